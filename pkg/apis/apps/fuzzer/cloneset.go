package fuzzer

import (
	"math"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/randfill"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

var cloneSet = []any{
	fuzzCloneSet, fuzzCloneSetSpec, fuzzUpdateStrategy, fuzzRollingUpdate, fuzzInPlaceUpdate, fuzzV1alpha1CloneSet, fuzzV1beta1CloneSet,
}

// fuzzCloneSet adds labels and annotations that agree with their fields to half of all fields. Where there is no
// field for it, an annotation has any text.
func fuzzCloneSet(cloneSet *apps.CloneSet, c randfill.Continue) {
	c.FillNoCustom(cloneSet)
	for _, setting := range apps.CloneSetSettings() {
		text := setting.Text(cloneSet)
		if text == "" {
			text = texts[c.Intn(len(texts))]
		}
		switch {
		case c.Bool():
		case setting.Label:
			cloneSet.Labels = put(cloneSet.Labels, setting.Key, text)
		case !setting.Has(cloneSet) || setting.Normalize(text) == setting.Text(cloneSet):
			cloneSet.Annotations = put(cloneSet.Annotations, setting.Key, text)
		}
	}
}

// texts are values, values that are written unusually, and texts that are no values.
var texts = []string{"0", "5", "007", "50%", "5.5%", "-1", "abc", "", "99999999999"}

func fuzzCloneSetSpec(spec *apps.CloneSetSpec, c randfill.Continue) {
	c.FillNoCustom(spec)
	spec.Replicas = new(ptr.Deref(spec.Replicas, 1))
	spec.RevisionHistoryLimit = new(ptr.Deref(spec.RevisionHistoryLimit, 10))
}

func fuzzUpdateStrategy(strategy *apps.CloneSetUpdateStrategy, c randfill.Continue) {
	c.FillNoCustom(strategy)
	strategy.Type = apps.OnDeleteCloneSetStrategyType
	if c.Bool() {
		strategy.Type = apps.RollingUpdateCloneSetStrategyType
		if strategy.RollingUpdate == nil {
			strategy.RollingUpdate = &apps.RollingUpdateCloneSetStrategy{}
			c.Fill(strategy.RollingUpdate)
		}
	}
}

func fuzzRollingUpdate(rolling *apps.RollingUpdateCloneSetStrategy, c randfill.Continue) {
	c.FillNoCustom(rolling)
	rolling.PodUpdatePolicy = podUpdatePolicies[c.Intn(len(podUpdatePolicies))]
	rolling.Partition = new(ptr.Deref(rolling.Partition, intstr.FromInt32(0)))
	rolling.MaxUnavailable = new(ptr.Deref(rolling.MaxUnavailable, intstr.FromString("20%")))
	rolling.MaxSurge = new(ptr.Deref(rolling.MaxSurge, intstr.FromInt32(0)))
	if rolling.PodUpdatePolicy != pub.ReCreatePodUpdatePolicy && rolling.InPlaceUpdateStrategy == nil {
		rolling.InPlaceUpdateStrategy = &apps.InPlaceUpdateStrategy{}
		c.Fill(rolling.InPlaceUpdateStrategy)
	}
}

func fuzzInPlaceUpdate(strategy *apps.InPlaceUpdateStrategy, c randfill.Continue) {
	c.FillNoCustom(strategy)
	for _, number := range []*intstr.IntOrString{strategy.ImagePreDownloadParallelism, strategy.ImagePreDownloadMinUpdatedReadyPods} {
		if number != nil {
			*number = intstr.FromInt32(c.Int31())
		}
	}
	if seconds := strategy.ImagePreDownloadTimeoutSeconds; seconds != nil {
		*seconds &= math.MaxInt32
	}
}

// fuzzV1alpha1CloneSet adds the metadata that says what the hub has fields for: texts that
// are values, that are values written unusually, and that are none.
func fuzzV1alpha1CloneSet(cloneSet *v1alpha1.CloneSet, c randfill.Continue) {
	c.FillNoCustom(cloneSet)
	types := []v1alpha1.CloneSetUpdateStrategyType{
		"", v1alpha1.RecreateCloneSetUpdateStrategyType, v1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType,
		v1alpha1.InPlaceOnlyCloneSetUpdateStrategyType, v1alpha1.OnDeleteCloneSetUpdateStrategyType,
	}
	cloneSet.Spec.UpdateStrategy.Type = types[c.Intn(len(types))]
	// The fields of v1beta1 are returned as the others.
	cloneSet.Spec.UpdateStrategy.RollingUpdate = nil
	cloneSet.Spec.ScaleStrategy.EnablePVCReuse, cloneSet.Spec.ScaleStrategy.ExcludePreparingDelete = false, false
	if c.Bool() {
		values := []string{"true", "false", ""}
		cloneSet.Labels = put(cloneSet.Labels, pub.CloneSetScalingExcludePreparingDeleteKey, values[c.Intn(len(values))])
	}
	for _, key := range []string{
		pub.ImagePreDownloadParallelismKey, pub.ImagePreDownloadTimeoutSecondsKey, pub.ImagePreDownloadMinUpdatedReadyPodsKey,
	} {
		if c.Bool() {
			cloneSet.Annotations = put(cloneSet.Annotations, key, texts[c.Intn(len(texts))])
		}
	}
}

// fuzzV1beta1CloneSet takes the hub's values: v1beta1 has its shape. Claim templates are without
// kind, which protobuf does not carry.
func fuzzV1beta1CloneSet(cloneSet *v1beta1.CloneSet, c randfill.Continue) {
	hub := &apps.CloneSet{}
	c.Fill(hub)
	if err := v1beta1.Convert_apps_CloneSet_To_v1beta1_CloneSet(hub, cloneSet, nil); err != nil {
		c.FillNoCustom(cloneSet)
	}
	cloneSet.Spec.VolumeClaimTemplates = apps.ClaimsToHub(cloneSet.Spec.VolumeClaimTemplates)
}
