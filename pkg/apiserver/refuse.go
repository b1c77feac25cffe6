package apiserver

import (
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// storeGate says whether objects can be served.
type storeGate interface {
	// Check returns the error that requests for objects get, or nil.
	Check() error
	// Ready returns in words what is missing, or nil.
	Ready() error
}

// refuseWithoutStore answers requests for objects of our groups with 503 while the store is not open, and /readyz with the reason.
// It never answers 404, which the garbage collector reads as the deletion of an owner. Discovery and reviews go on.
func refuseWithoutStore(gate storeGate, groups sets.Set[string], codecs runtime.NegotiatedSerializer, handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/readyz" {
			if err := gate.Ready(); err != nil {
				http.Error(w, fmt.Sprintf("[-]store failed: %v\nreadyz check failed", err), http.StatusInternalServerError)
				return
			}
		}
		if err := gate.Check(); err != nil {
			info, ok := genericapirequest.RequestInfoFrom(req.Context())
			if ok && info.IsResourceRequest && groups.Has(info.APIGroup) {
				version := schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
				responsewriters.ErrorNegotiated(err, codecs, version, w, req)
				return
			}
		}
		handler.ServeHTTP(w, req)
	})
}
