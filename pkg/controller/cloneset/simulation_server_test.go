package cloneset

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller/controllertest"
	client "kruise.io/kruise/pkg/generated/clientset/versioned/typed/apps/v1beta1"
)

// setClient is the client through which the controller writes the CloneSet.
type setClient struct {
	client.CloneSetInterface
	*controllertest.Versions[*v1beta1.CloneSet]
}

func (c setClient) CloneSets(string) client.CloneSetInterface { return c }

func (c setClient) Get(context.Context, string, metav1.GetOptions) (*v1beta1.CloneSet, error) {
	return c.Newest(), nil
}

func (c setClient) UpdateStatus(_ context.Context, set *v1beta1.CloneSet, _ metav1.UpdateOptions) (*v1beta1.CloneSet, error) {
	return c.Write(set.ResourceVersion, func(stored *v1beta1.CloneSet) error {
		stored.Status = *set.Status.DeepCopy()
		return nil
	})
}

func (c setClient) Patch(_ context.Context, _ string, _ types.PatchType, data []byte, _ metav1.PatchOptions,
	_ ...string) (*v1beta1.CloneSet, error) {
	patch := &v1beta1.CloneSet{}
	if err := json.Unmarshal(data, patch); err != nil {
		return nil, err
	}
	return c.Write(patch.ResourceVersion, func(stored *v1beta1.CloneSet) error {
		stored.Generation++
		return json.Unmarshal(data, stored)
	})
}
