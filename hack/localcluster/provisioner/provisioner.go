package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

// provisioner creates a folder below dir for each volume. The folder has the name of the volume.
type provisioner struct{ dir string }

var _ controller.Provisioner = provisioner{}

// Provision makes the folder writable for every user, because Pods run as any user and only one Pod uses the folder.
func (p provisioner) Provision(
	_ context.Context, options controller.ProvisionOptions,
) (*corev1.PersistentVolume, controller.ProvisioningState, error) {
	spec := options.PVC.Spec
	if ptr.Deref(spec.VolumeMode, corev1.PersistentVolumeFilesystem) != corev1.PersistentVolumeFilesystem {
		return nil, controller.ProvisioningFinished, fmt.Errorf("volumeMode %q: only Filesystem is supported", *spec.VolumeMode)
	}
	path := filepath.Join(p.dir, options.PVName)
	const everyone = 0o777
	if err := os.MkdirAll(path, everyone); err != nil {
		return nil, controller.ProvisioningFinished, fmt.Errorf("create volume: %w", err)
	}
	if err := os.Chmod(path, everyone); err != nil {
		return nil, controller.ProvisioningFinished, fmt.Errorf("open volume to all users: %w", err)
	}
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: options.PVName},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: *options.StorageClass.ReclaimPolicy,
			AccessModes:                   spec.AccessModes,
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: spec.Resources.Requests[corev1.ResourceStorage]},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: path, Type: new(corev1.HostPathDirectory)},
			},
		},
	}, controller.ProvisioningFinished, nil
}

// Delete removes the folder. It uses the name of the volume, because a user may have changed the path in the volume.
func (p provisioner) Delete(_ context.Context, volume *corev1.PersistentVolume) error {
	path := filepath.Join(p.dir, volume.Name)
	if source := volume.Spec.HostPath; source == nil || source.Path != path {
		return fmt.Errorf("delete volume %s: its path is not %s, which was given to it", volume.Name, path)
	}
	if err := os.RemoveAll(path); err != nil {
		return fmt.Errorf("delete volume: %w", err)
	}
	return nil
}
