package fuzzer

import (
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"

	"kruise.io/kruise/pkg/apis/pub"
)

// Funcs are the fuzzing functions of the group.
func Funcs(serializer.CodecFactory) []any {
	return slices.Concat(
		[]any{fuzzIntOrString},
		cloneSet,
		containerRecreateRequest,
		daemonSet,
		embedded,
		images,
		jobs,
		namesOfV1alpha1,
		sidecarSet,
		statefulSet,
		unitedDeployment,
		workloadSpread,
	)
}

var podUpdatePolicies = []pub.PodUpdatePolicyType{
	pub.ReCreatePodUpdatePolicy, pub.InPlaceIfPossiblePodUpdatePolicy, pub.InPlaceOnlyPodUpdatePolicy,
}

func fuzzIntOrString(value *intstr.IntOrString, c randfill.Continue) {
	if c.Bool() {
		*value = intstr.FromInt32(c.Int31())
		return
	}
	*value = intstr.FromString(strconv.Itoa(c.Intn(101)) + "%")
}

func put(values map[string]string, key, value string) map[string]string {
	if values == nil {
		values = map[string]string{}
	}
	values[key] = value
	return values
}
