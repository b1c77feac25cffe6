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

// storeGate tells whether objects can be served.
type storeGate interface {
	// Check returns nil if objects can be served, else the error for clients.
	Check() error
	// Ready returns nil if objects can be served, else the problem.
	Ready() error
}

// refuseWithoutStore answers requests for Kruise objects with 503 while the store is not open, and /readyz with the reason. It
// never returns 404, because the garbage collector would take that for the deletion of an owner. Discovery and reviews still work.
func refuseWithoutStore(gate storeGate, groups sets.Set[string], codecs runtime.NegotiatedSerializer, handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		// Only the reason of the store is answered here. While the store is ready, the generic /readyz answers.
		if req.URL.Path == "/readyz" {
			if err := gate.Ready(); err != nil {
				http.Error(w, fmt.Sprintf("[-]store failed: %v\nreadyz check failed", err), http.StatusInternalServerError)
				return
			}
		}
		if err := gate.Check(); err != nil {
			// Requests for other groups, discovery and reviews go on.
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
