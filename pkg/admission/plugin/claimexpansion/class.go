package claimexpansion

import (
	"context"
	"fmt"

	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// isDefault is the annotation by which Kubernetes marks the default StorageClass.
const isDefault = "storageclass.kubernetes.io/is-default-class"

// cannotExpand returns why claims of a class cannot grow, and whether the class does not exist. It returns an empty
// string if they can, or if that is unknown: the claim has no class, or the cluster has no default class.
func (p *Plugin) cannotExpand(ctx context.Context, name *string) (problem string, missing bool, err error) {
	// A claim without storageClassName gets the default class at its creation. The class of existing claims is not
	// known here: the default class may have changed since then.
	if name == nil {
		class, err := p.defaultClass(ctx)
		if class == nil || ptr.Deref(class.AllowVolumeExpansion, false) {
			return "", false, err
		}
		return "the cluster's default StorageClass " + class.Name + " does not allow volume expansion", false, nil
	}
	// An empty name means a claim that binds only to volumes without a class. Whether such a volume can grow is
	// unknown.
	if *name == "" {
		return "", false, nil
	}
	class, err := p.Host.StorageV1().StorageClasses().Get(ctx, *name, metav1.GetOptions{})
	// A missing class cannot expand volumes: the resize controller of Kubernetes needs the class of a claim to allow
	// it. So a missing class is a mistake of the user and not an error of the server.
	switch {
	case apierrors.IsNotFound(err):
		return "there is no StorageClass " + *name + " that allows volume expansion", true, nil
	case err != nil:
		return "", false, fmt.Errorf("get StorageClass %s: %w", *name, err)
	case ptr.Deref(class.AllowVolumeExpansion, false):
		return "", false, nil
	default:
		return "StorageClass " + *name + " does not allow volume expansion", false, nil
	}
}

// defaultClass returns the class that new claims get, or nil if no default exists. If several classes are marked as
// default, it is the newest one, which is also the rule of the Kubernetes plugin DefaultStorageClass.
func (p *Plugin) defaultClass(ctx context.Context) (*storagev1.StorageClass, error) {
	classes, err := p.Host.StorageV1().StorageClasses().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list StorageClasses: %w", err)
	}
	var chosen *storagev1.StorageClass
	for i := range classes.Items {
		class := &classes.Items[i]
		if class.Annotations[isDefault] == "true" &&
			(chosen == nil || chosen.CreationTimestamp.Before(&class.CreationTimestamp)) {
			chosen = class
		}
	}
	return chosen, nil
}
