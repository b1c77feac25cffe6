package fuzzer

import (
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/randfill"
)

var embedded = []any{fuzzRaw}

// fuzzRaw is JSON in the one form that the hub has it in.
func fuzzRaw(raw *runtime.RawExtension, c randfill.Continue) {
	*raw = runtime.RawExtension{Raw: []byte(`{"apiVersion":"v1","data":{"number":"` + strconv.Itoa(c.Intn(9)) + `"},"kind":"ConfigMap"}`)}
}
