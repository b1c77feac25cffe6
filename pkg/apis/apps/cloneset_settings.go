package apps

import (
	"strconv"

	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/annotation"
	"kruise.io/kruise/pkg/apis/pub"
)

// CloneSetSettings returns the settings that a CloneSet has both as a field and in its metadata. A percentage of
// updated Pods has its effect only as an annotation, because the field cannot have it.
func CloneSetSettings() []annotation.Setting[*CloneSet] {
	return []annotation.Setting[*CloneSet]{
		{
			Key: pub.CloneSetScalingExcludePreparingDeleteKey, Label: true,
			Normalize: func(text string) string { return trueText(text == "true") },
			Text:      func(set *CloneSet) string { return trueText(set.Spec.ScaleStrategy.ExcludePreparingDelete) },
			Set:       func(set *CloneSet, text string) { set.Spec.ScaleStrategy.ExcludePreparingDelete = text == "true" },
		},
		preDownloadSetting(
			pub.ImagePreDownloadParallelismKey,
			func(in *InPlaceUpdateStrategy) string { return countText(in.ImagePreDownloadParallelism) },
			func(in *InPlaceUpdateStrategy, count *intstr.IntOrString) { in.ImagePreDownloadParallelism = count },
		),
		preDownloadSetting(
			pub.ImagePreDownloadTimeoutSecondsKey,
			func(in *InPlaceUpdateStrategy) string {
				if in.ImagePreDownloadTimeoutSeconds == nil {
					return ""
				}
				return strconv.Itoa(int(*in.ImagePreDownloadTimeoutSeconds))
			},
			func(in *InPlaceUpdateStrategy, count *intstr.IntOrString) {
				in.ImagePreDownloadTimeoutSeconds = nil
				if count != nil {
					in.ImagePreDownloadTimeoutSeconds = &count.IntVal
				}
			},
		),
		preDownloadSetting(
			pub.ImagePreDownloadMinUpdatedReadyPodsKey,
			func(in *InPlaceUpdateStrategy) string { return countText(in.ImagePreDownloadMinUpdatedReadyPods) },
			func(in *InPlaceUpdateStrategy, count *intstr.IntOrString) {
				in.ImagePreDownloadMinUpdatedReadyPods = count
			},
		),
	}
}

// preDownloadSetting returns a setting that is a number in inPlaceUpdateStrategy. Without this block no Pod is
// updated in place, and the setting is only an annotation.
func preDownloadSetting(
	key string, text func(*InPlaceUpdateStrategy) string, set func(*InPlaceUpdateStrategy, *intstr.IntOrString),
) annotation.Setting[*CloneSet] {
	return annotation.Setting[*CloneSet]{
		Key:       key,
		Has:       func(cloneSet *CloneSet) bool { return inPlaceUpdate(cloneSet) != nil },
		Normalize: func(text string) string { return countText(parseCount(text)) },
		Text: func(cloneSet *CloneSet) string {
			if in := inPlaceUpdate(cloneSet); in != nil {
				return text(in)
			}
			return ""
		},
		Set: func(cloneSet *CloneSet, text string) {
			if in := inPlaceUpdate(cloneSet); in != nil {
				// Conversion shares the block between objects.
				changed := *in
				set(&changed, parseCount(text))
				cloneSet.Spec.UpdateStrategy.RollingUpdate.InPlaceUpdateStrategy = &changed
			}
		},
	}
}

// inPlaceUpdate returns the block inPlaceUpdateStrategy, or nil.
func inPlaceUpdate(cloneSet *CloneSet) *InPlaceUpdateStrategy {
	if rolling := cloneSet.Spec.UpdateStrategy.RollingUpdate; rolling != nil {
		return rolling.InPlaceUpdateStrategy
	}
	return nil
}

func trueText(value bool) string {
	if value {
		return "true"
	}
	return ""
}

// parseCount parses a non-negative number. It returns nil for any other text.
func parseCount(text string) *intstr.IntOrString {
	number, err := strconv.ParseInt(text, 10, 32)
	if err != nil || number < 0 {
		return nil
	}
	return &intstr.IntOrString{Type: intstr.Int, IntVal: int32(number)}
}

func countText(value *intstr.IntOrString) string {
	if value == nil {
		return ""
	}
	return value.String()
}
