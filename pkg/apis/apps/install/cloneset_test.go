package install_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/install"
	"kruise.io/kruise/pkg/apis/pub"
)

// kubectl label and kubectl annotate write v1beta1, which has the settings as fields too.
func TestAgreeOnCloneSet(t *testing.T) {
	type change func(*apps.CloneSet)
	cloneSet := func(changes ...change) *apps.CloneSet {
		set := &apps.CloneSet{ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{"mine": "x"}, Annotations: map[string]string{"mine": "x"},
		}}
		set.Spec.UpdateStrategy.RollingUpdate = &apps.RollingUpdateCloneSetStrategy{InPlaceUpdateStrategy: &apps.InPlaceUpdateStrategy{}}
		for _, change := range changes {
			change(set)
		}
		return set
	}
	inPlace := func(set *apps.CloneSet) *apps.InPlaceUpdateStrategy {
		return set.Spec.UpdateStrategy.RollingUpdate.InPlaceUpdateStrategy
	}
	label := func(text string) change {
		return func(set *apps.CloneSet) { set.Labels[pub.CloneSetScalingExcludePreparingDeleteKey] = text }
	}
	excludes := func(set *apps.CloneSet) { set.Spec.ScaleStrategy.ExcludePreparingDelete = true }
	note := func(text string) change {
		return func(set *apps.CloneSet) { set.Annotations[pub.ImagePreDownloadParallelismKey] = text }
	}
	field := func(n int32) change {
		return func(set *apps.CloneSet) { inPlace(set).ImagePreDownloadParallelism = new(intstr.FromInt32(n)) }
	}
	timeoutNote := func(text string) change {
		return func(set *apps.CloneSet) { set.Annotations[pub.ImagePreDownloadTimeoutSecondsKey] = text }
	}
	timeout := func(n int32) change {
		return func(set *apps.CloneSet) { inPlace(set).ImagePreDownloadTimeoutSeconds = &n }
	}
	minReadyNote := func(text string) change {
		return func(set *apps.CloneSet) { set.Annotations[pub.ImagePreDownloadMinUpdatedReadyPodsKey] = text }
	}
	minReady := func(n int32) change {
		return func(set *apps.CloneSet) { inPlace(set).ImagePreDownloadMinUpdatedReadyPods = new(intstr.FromInt32(n)) }
	}
	recreated := func(set *apps.CloneSet) { set.Spec.UpdateStrategy.RollingUpdate.InPlaceUpdateStrategy = nil }
	for name, test := range map[string]struct{ old, written, want *apps.CloneSet }{
		"created with the metadata": {
			nil, cloneSet(label("true"), note("5"), timeoutNote("60"), minReadyNote("2")),
			cloneSet(label("true"), excludes, note("5"), field(5), timeoutNote("60"), timeout(60), minReadyNote("2"), minReady(2)),
		},
		"created with the fields":                     {nil, cloneSet(excludes, field(5)), cloneSet(excludes, field(5))},
		"created with no values":                      {nil, cloneSet(label("no"), note("5%")), cloneSet(label("no"), note("5%"))},
		"nothing changes":                             {cloneSet(label("true"), excludes, note("5"), field(5)), cloneSet(label("true"), excludes, note("5"), field(5)), cloneSet(label("true"), excludes, note("5"), field(5))},
		"label is added":                              {cloneSet(), cloneSet(label("true")), cloneSet(label("true"), excludes)},
		"label changes":                               {cloneSet(label("true"), excludes), cloneSet(label("false"), excludes), cloneSet(label("false"))},
		"label is removed":                            {cloneSet(label("true"), excludes), cloneSet(excludes), cloneSet()},
		"label alone is written again":                {cloneSet(label("true"), excludes), cloneSet(label("true")), cloneSet(label("true"), excludes)},
		"label and its field are removed":             {cloneSet(label("true"), excludes), cloneSet(), cloneSet()},
		"field of a label comes":                      {cloneSet(label("false")), cloneSet(label("false"), excludes), cloneSet(label("true"), excludes)},
		"annotation changes":                          {cloneSet(note("5"), field(5)), cloneSet(note("10"), field(5)), cloneSet(note("10"), field(10))},
		"annotation is removed":                       {cloneSet(note("5"), field(5)), cloneSet(field(5)), cloneSet()},
		"timeout is removed":                          {cloneSet(timeoutNote("5"), timeout(5)), cloneSet(timeout(5)), cloneSet()},
		"annotation is a share":                       {cloneSet(minReadyNote("5"), minReady(5)), cloneSet(minReadyNote("10%"), minReady(5)), cloneSet(minReadyNote("10%"))},
		"field changes":                               {cloneSet(note("5"), field(5)), cloneSet(note("5"), field(7)), cloneSet(note("7"), field(7))},
		"field changes to the same as the annotation": {cloneSet(note("07")), cloneSet(note("07"), field(7)), cloneSet(note("07"), field(7))},
		"annotation alone is written again":           {cloneSet(timeoutNote("5"), timeout(5)), cloneSet(timeoutNote("5")), cloneSet(timeoutNote("5"), timeout(5))},
		"annotation alone is written with a change":   {cloneSet(timeoutNote("5"), timeout(5)), cloneSet(timeoutNote("6")), cloneSet(timeoutNote("6"), timeout(6))},
		"annotation and its field are removed":        {cloneSet(timeoutNote("5"), timeout(5)), cloneSet(), cloneSet()},
		"field without an annotation is removed":      {cloneSet(field(5)), cloneSet(), cloneSet()},
		"field alone changes":                         {cloneSet(field(5)), cloneSet(field(7)), cloneSet(field(7))},
		"both change":                                 {cloneSet(note("5"), field(5)), cloneSet(note("6"), field(6)), cloneSet(note("6"), field(6))},
		"Pods are now recreated":                      {cloneSet(note("5"), field(5)), cloneSet(note("5"), recreated), cloneSet(note("5"), recreated)},
		"Pods are now updated":                        {cloneSet(note("5"), recreated), cloneSet(note("5")), cloneSet(note("5"), field(5))},
	} {
		t.Run(name, func(t *testing.T) {
			before := test.old.DeepCopy()
			install.AgreeOnCloneSet(test.written, test.old)
			assert.Equal(t, test.want, test.written)
			assert.Equal(t, before, test.old)
		})
	}
}
