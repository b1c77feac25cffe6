package controllertest

import (
	"slices"
	"strings"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StoresRevision checks that the only revision in a namespace stores exactly the data, with the bytes that OpenKruise writes. It then
// gives the revision the forms of a release that left out empty creation times, and the others, and checks that the controller goes on with
// it in each form: it creates and renames nothing, and touches no Pod. settle lets the controller act, as Settle does.
func (f *Fixture) StoresRevision(namespace, data string, settle func(), others ...string) {
	f.t.Helper()
	revisions := f.Kube.AppsV1().ControllerRevisions(namespace)
	list, err := revisions.List(f.t.Context(), metav1.ListOptions{})
	require.NoError(f.t, err)
	require.Len(f.t, list.Items, 1)
	revision := &list.Items[0]
	require.Equal(f.t, data, string(revision.Data.Raw))
	withoutTimes := strings.NewReplacer(`"creationTimestamp":null,`, ``, `"creationTimestamp":null`, ``).Replace(data)
	forms := append(slices.Clone(others), withoutTimes, data)
	for _, form := range forms {
		revision = revision.DeepCopy()
		revision.Data.Raw = []byte(form)
		// Neither a revision of OpenKruise nor one of an earlier release has annotations of this release.
		revision.Annotations = nil
		f.Update(revision)
		f.Writes()
		f.Observe()
		settle()
		assert.Empty(f.t, f.Writes(), form)
		stored, err := revisions.Get(f.t.Context(), revision.Name, metav1.GetOptions{})
		require.NoError(f.t, err)
		assert.Equal(f.t, form, string(stored.Data.Raw))
	}
}
