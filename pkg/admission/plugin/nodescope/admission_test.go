package nodescope

import (
	"testing"

	"github.com/stretchr/testify/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
)

const agent = "system:serviceaccount:kruise-system:kruise-daemon"

// TestValidate covers the writes of node agents and of other users.
// Case node-agent 19.
func TestValidate(t *testing.T) {
	of := func(node string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{NodeLabel: node}}}
	}
	tests := map[string]struct {
		user, node            string
		operation             admission.Operation
		resource, sub, object string
		stored                *metav1.PartialObjectMetadata
		want                  string
	}{
		"own NodeImage": {agent, "n1", admission.Update, "nodeimages", "status", "n1", of(""), ""},
		"other NodeImage": {agent, "n1", admission.Update, "nodeimages", "status", "n2", of(""),
			`the object belongs to node "n2", but the agent's token belongs to node "n1"`},
		"own NodePodProbe":   {agent, "n1", admission.Update, "nodepodprobes", "status", "n1", of(""), ""},
		"other NodePodProbe": {agent, "n1", admission.Update, "nodepodprobes", "status", "n2", of(""), "the object belongs to node"},
		"own request":        {agent, "n1", admission.Update, "containerrecreaterequests", "status", "x", of("n1"), ""},
		"other request": {agent, "n1", admission.Update, "containerrecreaterequests", "status", "x", of("n2"),
			"the object belongs to node"},
		"request without a label": {agent, "n1", admission.Update, "containerrecreaterequests", "status", "n1", of(""),
			"the object belongs to node"},
		"other kind": {agent, "n1", admission.Update, "clonesets", "status", "n1", of("n1"),
			"cannot update the status of this kind"},
		"spec":     {agent, "n1", admission.Update, "nodeimages", "", "n1", of("n1"), "can update only the status subresource"},
		"creation": {agent, "n1", admission.Create, "nodeimages", "", "n1", of("n1"), "can update only the status subresource"},
		"deletion": {agent, "n1", admission.Delete, "nodeimages", "", "n1", of("n1"), "can update only the status subresource"},
		"creation of a status": {agent, "n1", admission.Create, "nodeimages", "status", "n1", of(""),
			"can update only the status subresource"},
		"connection to a status": {agent, "n1", admission.Connect, "nodeimages", "status", "n1", of(""),
			"can update only the status subresource"},
		"a token without a node":   {agent, "", admission.Update, "nodeimages", "status", "n1", of(""), "does not name a node"},
		"somebody else":            {"jane", "", admission.Delete, "nodeimages", "", "n1", of("n2"), ""},
		"another user with a node": {"jane", "n1", admission.Update, "nodeimages", "status", "n2", of(""), ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			caller := &user.DefaultInfo{Name: test.user}
			if test.node != "" {
				caller.Extra = map[string][]string{"authentication.kubernetes.io/node-name": {test.node}}
			}
			err := New(agent).Validate(t.Context(), admission.NewAttributesRecord(
				of("changed"), test.stored, schema.GroupVersionKind{}, "", test.object,
				schema.GroupVersionResource{Group: "apps.kruise.io", Version: "v1beta1", Resource: test.resource}, test.sub,
				test.operation, nil, false, caller,
			), nil)
			if test.want == "" {
				assert.NoError(t, err)
				return
			}
			assert.True(t, apierrors.IsForbidden(err), "%v", err)
			assert.ErrorContains(t, err, test.want)
		})
	}
}

func TestStoredLabelDecides(t *testing.T) {
	caller := &user.DefaultInfo{Name: agent, Extra: map[string][]string{"authentication.kubernetes.io/node-name": {"n1"}}}
	err := New(agent).Validate(t.Context(), admission.NewAttributesRecord(
		&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{NodeLabel: "n1"}}}, nil, schema.GroupVersionKind{},
		"", "x", schema.GroupVersionResource{Resource: "containerrecreaterequests"}, "status", admission.Update, nil, false, caller,
	), nil)
	assert.True(t, apierrors.IsForbidden(err), "%v", err)
	assert.ErrorContains(t, err, "read labels")
}

func TestNoRestrictionWithoutAnAccount(t *testing.T) {
	err := New("").Validate(t.Context(), admission.NewAttributesRecord(
		nil, nil, schema.GroupVersionKind{}, "", "n1", schema.GroupVersionResource{Resource: "nodeimages"}, "", admission.Delete, nil, false, &user.DefaultInfo{},
	), nil)
	assert.NoError(t, err)
}
