package install_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/install"
	"kruise.io/kruise/pkg/apis/pub"
)

// Users of OpenKruise know the annotation, and kubectl annotate writes the version with the field.
// Case daemonset 33.
func TestAnnotationForProgressiveCreationHasItsEffect(t *testing.T) {
	of := func(value string) *apps.DaemonSet {
		set := &apps.DaemonSet{}
		if value != "" {
			set.Annotations = map[string]string{pub.DaemonSetProgressiveCreatePodKey: value, "a": "b"}
		}
		return set
	}
	for name, test := range map[string]struct {
		set, old *apps.DaemonSet
		want     bool
	}{
		"created with it":                {of("true"), nil, true},
		"added":                          {of("true"), of(""), true},
		"changed":                        {of("true"), of("no"), true},
		"another value":                  {of("yes"), of(""), false},
		"it was there and had no effect": {of("true"), of("true"), false},
		"none":                           {of(""), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			kept := test.set.DeepCopy()
			install.AgreeOnDaemonSet(test.set, test.old)
			assert.Equal(t, test.want, test.set.Spec.ScaleStrategy.PartitionedScaling)
			if test.want {
				assert.Equal(t, map[string]string{"a": "b"}, test.set.Annotations, "the field has it now")
			} else {
				assert.Equal(t, kept, test.set)
			}
		})
	}
}
