package fuzzer

import (
	"slices"
	"strings"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/randfill"

	"kruise.io/kruise/pkg/apis/apps"
)

var images = []any{fuzzNodeImage, fuzzImageTag, fuzzImagePullJobTemplate, fuzzCompletionPolicy}

// fuzzNodeImage sorts the tags, as defaulting does.
func fuzzNodeImage(nodeImage *apps.NodeImage, c randfill.Continue) {
	c.FillNoCustom(nodeImage)
	for _, image := range nodeImage.Spec.Images {
		slices.SortStableFunc(image.Tags, func(a, b apps.ImageTagSpec) int { return strings.Compare(a.Tag, b.Tag) })
	}
	for _, image := range nodeImage.Status.ImageStatuses {
		slices.SortStableFunc(image.Tags, func(a, b apps.ImageTagStatus) int { return strings.Compare(a.Tag, b.Tag) })
	}
}

func fuzzImageTag(tag *apps.ImageTagSpec, c randfill.Continue) {
	c.FillNoCustom(tag)
	if tag.PullPolicy == nil {
		tag.PullPolicy = &apps.ImageTagPullPolicy{}
	}
	tag.PullPolicy.TimeoutSeconds = new(ptr.Deref(tag.PullPolicy.TimeoutSeconds, 600))
	tag.PullPolicy.BackoffLimit = new(ptr.Deref(tag.PullPolicy.BackoffLimit, 3))
}

func fuzzImagePullJobTemplate(template *apps.ImagePullJobTemplate, c randfill.Continue) {
	c.FillNoCustom(template)
	if template.PullPolicy == nil {
		template.PullPolicy = &apps.PullPolicy{}
	}
	template.PullPolicy.TimeoutSeconds = new(ptr.Deref(template.PullPolicy.TimeoutSeconds, 600))
	template.PullPolicy.BackoffLimit = new(ptr.Deref(template.PullPolicy.BackoffLimit, 3))
	policies := []apps.ImagePullPolicy{apps.PullAlways, apps.PullIfNotPresent}
	template.ImagePullPolicy = policies[c.Intn(len(policies))]
}

func fuzzCompletionPolicy(policy *apps.CompletionPolicy, c randfill.Continue) {
	c.FillNoCustom(policy)
	types := []apps.CompletionPolicyType{apps.CompletionPolicyAlways, apps.CompletionPolicyNever}
	policy.Type = types[c.Intn(len(types))]
}
