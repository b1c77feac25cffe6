package v1alpha1

import (
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/pub"
)

// +k8s:deepcopy-gen=false
// +k8s:openapi-gen=false
// +protobuf=false
//
// preDownloadField ties an annotation of v1alpha1 to the hub's field.
type preDownloadField struct {
	annotation string
	// set parses the text into the field. It returns false if the text is not a valid value.
	set func(in *apps.InPlaceUpdateStrategy, text string) bool
	// text is the field's value as an annotation. It returns false if the field is not set.
	text func(in *apps.InPlaceUpdateStrategy) (string, bool)
}

func preDownloadFields() []preDownloadField {
	return []preDownloadField{
		{
			annotation: pub.ImagePreDownloadParallelismKey,
			set: func(in *apps.InPlaceUpdateStrategy, text string) bool {
				value, ok := parseCount(text)
				if ok {
					in.ImagePreDownloadParallelism = value
				}
				return ok
			},
			text: func(in *apps.InPlaceUpdateStrategy) (string, bool) { return countText(in.ImagePreDownloadParallelism) },
		},
		{
			annotation: pub.ImagePreDownloadTimeoutSecondsKey,
			set: func(in *apps.InPlaceUpdateStrategy, text string) bool {
				value, ok := parseCount(text)
				if ok {
					in.ImagePreDownloadTimeoutSeconds = &value.IntVal
				}
				return ok
			},
			text: func(in *apps.InPlaceUpdateStrategy) (string, bool) {
				if in.ImagePreDownloadTimeoutSeconds == nil {
					return "", false
				}
				return strconv.Itoa(int(*in.ImagePreDownloadTimeoutSeconds)), true
			},
		},
		{
			annotation: pub.ImagePreDownloadMinUpdatedReadyPodsKey,
			set: func(in *apps.InPlaceUpdateStrategy, text string) bool {
				value, ok := parseCount(text)
				if ok {
					in.ImagePreDownloadMinUpdatedReadyPods = value
				}
				return ok
			},
			text: func(in *apps.InPlaceUpdateStrategy) (string, bool) {
				return countText(in.ImagePreDownloadMinUpdatedReadyPods)
			},
		},
	}
}

// preDownloadToFields moves the annotations into the fields. A value that the field cannot have stays an
// annotation: a percentage of updated Pods, which has its effect there, or an invalid one. A value in an
// unusual form ("05") also stays, so that v1alpha1 returns it unchanged. Without inPlaceUpdateStrategy, no
// Pod is updated in place, and all values stay annotations. The annotations in unmoved stay too.
func preDownloadToFields(out *apps.CloneSet, unmoved []string) {
	rolling := out.Spec.UpdateStrategy.RollingUpdate
	if rolling == nil || rolling.InPlaceUpdateStrategy == nil {
		return
	}
	for _, field := range preDownloadFields() {
		text, found := out.Annotations[field.annotation]
		if !found || slices.Contains(unmoved, field.annotation) || !field.set(rolling.InPlaceUpdateStrategy, text) {
			continue
		}
		if usual, _ := field.text(rolling.InPlaceUpdateStrategy); usual == text {
			out.Annotations = without(out.Annotations, field.annotation)
		}
	}
}

// preDownloadToAnnotations is the inverse: a field that is set overrides its annotation.
func preDownloadToAnnotations(in *apps.CloneSet, out *CloneSet) {
	rolling := in.Spec.UpdateStrategy.RollingUpdate
	if rolling == nil || rolling.InPlaceUpdateStrategy == nil {
		return
	}
	for _, field := range preDownloadFields() {
		want, isSet := field.text(rolling.InPlaceUpdateStrategy)
		shown := &apps.InPlaceUpdateStrategy{}
		text, found := out.Annotations[field.annotation]
		valid := found && field.set(shown, text)
		usual, _ := field.text(shown)
		if isSet && (!valid || usual != want) {
			out.Annotations = with(out.Annotations, field.annotation, want)
		}
	}
}

// parseCount parses a non-negative number.
func parseCount(text string) (*intstr.IntOrString, bool) {
	number, err := strconv.ParseInt(text, 10, 32)
	if err != nil || number < 0 {
		return nil, false
	}
	return &intstr.IntOrString{Type: intstr.Int, IntVal: int32(number)}, true
}

func countText(value *intstr.IntOrString) (string, bool) {
	if value == nil {
		return "", false
	}
	return value.String(), true
}
