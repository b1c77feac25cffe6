package spread

import (
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/kinds"
)

// Overflow returns how many of the Pods that the workload wants find no slot, because every subset has a limit. It is zero if a
// subset has no limit.
func Overflow(spread *v1beta1.WorkloadSpread, replicas int) int {
	left := replicas
	for i := range spread.Spec.Subsets {
		limit := spread.Spec.Subsets[i].MaxReplicas
		if limit == nil {
			return 0
		}
		left -= Limit(limit, replicas)
	}
	return max(0, left)
}

// Total returns the number of Pods that a workload of a known kind wants, as far as the filter of the WorkloadSpread counts
// them. The paths of the filter replace the number of the workload. A Job wants its parallelism, 1 by default.
func Total(spread *v1beta1.WorkloadSpread, workload kinds.Object) int {
	if filter := spread.Spec.TargetFilter; filter != nil && len(filter.ReplicasPathList) > 0 {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(workload)
		if err != nil {
			return 0
		}
		return Sum(content, filter.ReplicasPathList)
	}
	if job, ok := workload.(*batchv1.Job); ok {
		return int(ptr.Deref(job.Spec.Parallelism, 1))
	}
	kind := kinds.OfObject(workload)
	if kind == nil || kind.Replicas == nil {
		return 0
	}
	return int(ptr.Deref(kind.Replicas(workload), 0))
}

// Sum adds the numbers at paths such as spec.replicas or spec.parts.0.replicas. A path that leads to no number counts as zero.
func Sum(content map[string]any, paths []string) (total int) {
	for _, path := range paths {
		total += number(content, path)
	}
	return total
}

// number returns the number at a path. The parts of the path are keys of maps or indexes of lists.
func number(content map[string]any, path string) int {
	var at any = content
	for part := range strings.SplitSeq(path, ".") {
		switch container := at.(type) {
		case map[string]any:
			at = container[part]
		case []any:
			index, err := strconv.Atoi(part)
			if err != nil || index < 0 || index >= len(container) {
				return 0
			}
			at = container[index]
		default:
			return 0
		}
	}
	// JSON from a server has integers as int64, and other numbers as float64.
	switch value := at.(type) {
	case int64:
		return int(value)
	case float64:
		return int(value)
	default:
		return 0
	}
}

// ScaleReplicas returns spec.replicas of a scale, or zero.
func ScaleReplicas(scale *unstructured.Unstructured) int {
	return Sum(scale.Object, []string{"spec.replicas"})
}
