package sidecarset

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/features"
)

// ConfigMap and key of the administrator's list of annotations that SidecarSets may write.
const (
	configuration = "kruise-configuration"
	allowedKey    = "SidecarSet_PatchPodMetadata_WhiteList"
)

// allowList is the administrator's list.
type allowList struct {
	Rules []allowRule `json:"rules"`
}

// allowRule allows the selected SidecarSets to write the annotation keys that match one of the expressions. A rule
// without a selector applies to all SidecarSets.
type allowRule struct {
	Selector    *metav1.LabelSelector `json:"selector,omitempty"`
	Expressions []string              `json:"allowedAnnotationKeyExprs"`
}

// checkAnnotations refuses Pod annotations that are not allowed. An annotation that the stored SidecarSet writes with
// the same value and policy may stay, even if the administrator has shortened the list since then. Without any rule
// for this SidecarSet, the feature gate SidecarSetPatchPodMetadataDefaults decides: everything is allowed if it is
// on, nothing if it is off.
func (p *Plugin) checkAnnotations(ctx context.Context, set, old *apps.SidecarSet) (field.ErrorList, error) {
	asked := newAnnotations(set, old)
	// Most SidecarSets write no annotations, and cost no read.
	if len(asked) == 0 {
		return nil, nil
	}
	at := field.NewPath("spec", "patchPodMetadata")
	// The rules are selected by the labels of the new object, which decide from now on.
	expressions, err := p.allowed(ctx, set.Labels)
	if err != nil {
		return nil, err
	}
	if len(expressions) == 0 && p.Gate.Enabled(features.SidecarSetPatchPodMetadataDefaults) {
		return nil, nil
	}
	where := fmt.Sprintf("key %s of ConfigMap %s/%s", allowedKey, p.Namespace, configuration)
	var errs field.ErrorList
	for _, one := range asked {
		path := at.Index(one.index).Child("annotations").Key(one.key)
		switch {
		case len(expressions) == 0:
			errs = append(errs, field.Forbidden(path,
				"the annotation is not allowed, because a whitelist for this SidecarSet is not found; add a rule to "+where))
		// An expression matches if it matches a part of the key. A rule that means the whole key has to anchor it.
		case !slices.ContainsFunc(expressions, func(e *regexp.Regexp) bool { return e.MatchString(one.key) }):
			errs = append(errs, field.Forbidden(path, "the annotation is not allowed; to allow it, add an expression that matches it to "+
				""+where))
		}
	}
	return errs, nil
}

// entry is one key in one entry of patchPodMetadata.
type entry struct {
	index int
	key   string
}

// written is the value that an entry writes to a key, and how.
type written struct {
	value  string
	policy apps.SidecarSetPatchPolicyType
}

// newAnnotations returns the annotations that the stored SidecarSet does not write with the same value and policy.
func newAnnotations(set, old *apps.SidecarSet) []entry {
	stored := map[string]written{}
	if old != nil {
		for _, patch := range old.Spec.PatchPodMetadata {
			for key, value := range patch.Annotations {
				stored[key] = written{value, patch.PatchPolicy}
			}
		}
	}
	var result []entry
	for i, patch := range set.Spec.PatchPodMetadata {
		// The keys are sorted, so the causes of a refusal have a stable order.
		for _, key := range slices.Sorted(maps.Keys(patch.Annotations)) {
			if stored[key] != (written{patch.Annotations[key], patch.PatchPolicy}) {
				result = append(result, entry{i, key})
			}
		}
	}
	return result
}

// allowed returns the expressions of the rules that apply to a SidecarSet with the given labels. A missing ConfigMap
// or key is an empty list. A list that cannot be read is an error and not an empty list: with an empty list, the
// feature gate would allow everything.
func (p *Plugin) allowed(ctx context.Context, values map[string]string) ([]*regexp.Regexp, error) {
	config, err := p.Host.CoreV1().ConfigMaps(p.Namespace).Get(ctx, configuration, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get ConfigMap %s/%s: %w", p.Namespace, configuration, err)
	}
	// The ConfigMap has other settings too, so the key can be missing.
	text, found := config.Data[allowedKey]
	if !found {
		return nil, nil
	}
	list := &allowList{}
	if err := json.Unmarshal([]byte(text), list); err != nil {
		return nil, fmt.Errorf("read %s of ConfigMap %s/%s: %w", allowedKey, p.Namespace, configuration, err)
	}
	var expressions []*regexp.Regexp
	for i := range list.Rules {
		of, err := list.Rules[i].expressions(values)
		if err != nil {
			return nil, fmt.Errorf("read rule %d in %s of ConfigMap %s/%s: %w", i, allowedKey, p.Namespace, configuration, err)
		}
		expressions = append(expressions, of...)
	}
	return expressions, nil
}

// expressions returns the expressions of the rule if it applies to a SidecarSet with the given labels.
func (r *allowRule) expressions(values map[string]string) ([]*regexp.Regexp, error) {
	if r.Selector != nil {
		selector, err := metav1.LabelSelectorAsSelector(r.Selector)
		if err != nil {
			return nil, fmt.Errorf("read its selector: %w", err)
		}
		if !selector.Matches(labels.Set(values)) {
			return nil, nil
		}
	}
	expressions := make([]*regexp.Regexp, 0, len(r.Expressions))
	for _, text := range r.Expressions {
		expression, err := regexp.Compile(text)
		if err != nil {
			return nil, fmt.Errorf("read expression %q: %w", text, err)
		}
		expressions = append(expressions, expression)
	}
	return expressions, nil
}
