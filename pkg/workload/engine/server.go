package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"kruise.io/kruise/pkg/workload/podcontrol"
)

// Server is the API that the engine writes to. Errors are those of the API machinery. A deletion applies only to the object
// with the given UID. Each other write returns the stored object, whose version the guard waits for. Implementations must be
// safe for concurrent use. dryRun only asks whether the API server would accept the write.
type Server interface {
	CreatePod(ctx context.Context, pod *corev1.Pod, dryRun bool) (*corev1.Pod, error)
	GetPod(ctx context.Context, namespace, name string) (*corev1.Pod, error)
	// PatchPod writes a change to the part of a Pod that it names. An exact change fails with a conflict if the Pod changed
	// since.
	PatchPod(ctx context.Context, change *Change, dryRun bool) (*corev1.Pod, error)
	DeletePod(ctx context.Context, pod *corev1.Pod) error
	// DisownPod removes an owner from a Pod.
	DisownPod(ctx context.Context, pod *corev1.Pod, owner types.UID) (*corev1.Pod, error)
	// AdoptPod adds an owner to a Pod.
	AdoptPod(ctx context.Context, pod *corev1.Pod, owner metav1.OwnerReference) (*corev1.Pod, error)

	CreateClaim(ctx context.Context, claim *corev1.PersistentVolumeClaim) (*corev1.PersistentVolumeClaim, error)
	GetClaim(ctx context.Context, namespace, name string) (*corev1.PersistentVolumeClaim, error)
	// MoveClaim replaces one owner of a claim with another.
	MoveClaim(ctx context.Context, claim *corev1.PersistentVolumeClaim, from types.UID, to metav1.OwnerReference) (
		*corev1.PersistentVolumeClaim, error)
	// PatchClaim changes a claim, unless another client changed it since before was read.
	PatchClaim(ctx context.Context, before, after *corev1.PersistentVolumeClaim) (*corev1.PersistentVolumeClaim, error)
	DeleteClaim(ctx context.Context, claim *corev1.PersistentVolumeClaim) error

	CreateRevision(ctx context.Context, revision *appsv1.ControllerRevision) (*appsv1.ControllerRevision, error)
	GetRevision(ctx context.Context, namespace, name string) (*appsv1.ControllerRevision, error)
	UpdateRevision(ctx context.Context, revision *appsv1.ControllerRevision) (*appsv1.ControllerRevision, error)
	DeleteRevision(ctx context.Context, revision *appsv1.ControllerRevision) error
	// AdoptRevision adds an owner to a revision.
	AdoptRevision(ctx context.Context, revision *appsv1.ControllerRevision, owner metav1.OwnerReference) (*appsv1.ControllerRevision, error)
}

// NewServer returns the Server that writes through a client.
func NewServer(client kubernetes.Interface) Server { return &server{client: client} }

type server struct {
	client kubernetes.Interface
	// noResize is true after the API server turned out to lack the resize subresource, which exists since Kubernetes 1.32.
	// Resources are then written with the rest of the Pod. If that fails, the next write asks for the subresource again: the
	// server may have been upgraded, and newer ones take resources only there.
	noResize atomic.Bool
}

func dryRunIf(dryRun bool) []string {
	if dryRun {
		return []string{metav1.DryRunAll}
	}
	return nil
}

// only limits a deletion to the object with the UID, so that a new object of the same name stays.
func only(uid types.UID) metav1.DeleteOptions {
	return metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
}

func (s *server) CreatePod(ctx context.Context, pod *corev1.Pod, dryRun bool) (*corev1.Pod, error) {
	return s.client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{DryRun: dryRunIf(dryRun)})
}

func (s *server) GetPod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	return s.client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (s *server) PatchPod(ctx context.Context, change *Change, dryRun bool) (*corev1.Pod, error) {
	patch, err := podcontrol.Patch(change.Before, change.After, change.Exact)
	if err != nil {
		return nil, err
	}
	var subresources []string
	switch {
	case change.Part == Status:
		subresources = []string{"status"}
	case change.Part == Resize && !s.noResize.Load():
		subresources = []string{"resize"}
	}
	pod, err := s.client.CoreV1().Pods(change.Before.Namespace).Patch(ctx, change.Before.Name, types.StrategicMergePatchType, patch,
		metav1.PatchOptions{DryRun: dryRunIf(dryRun)}, subresources...)
	if change.Part != Resize || err == nil {
		return pod, err
	}
	if len(subresources) > 0 && noSuchPath(err) {
		s.noResize.Store(true)
		return s.PatchPod(ctx, change, dryRun)
	}
	s.noResize.Store(false)
	return pod, err
}

// noSuchPath distinguishes a path that the server does not serve from an object that does not exist, which the answer names. For an
// unknown subresource, kube-apiserver answers without a name. Another server may answer with a text instead of a Status, and the client
// then adds the name and this cause.
func noSuchPath(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details == nil || details.Name == "" || apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

func (s *server) DeletePod(ctx context.Context, pod *corev1.Pod) error {
	return s.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, only(pod.UID))
}

func (s *server) DisownPod(ctx context.Context, pod *corev1.Pod, owner types.UID) (*corev1.Pod, error) {
	return s.changeOwners(ctx, pod, owner, nil)
}

func (s *server) AdoptPod(ctx context.Context, pod *corev1.Pod, owner metav1.OwnerReference) (*corev1.Pod, error) {
	return s.changeOwners(ctx, pod, "", &owner)
}

func (s *server) changeOwners(ctx context.Context, pod *corev1.Pod, from types.UID, to *metav1.OwnerReference) (*corev1.Pod, error) {
	patch, err := OwnersPatch(pod.UID, from, to)
	if err != nil {
		return nil, err
	}
	return s.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
}

// OwnersPatch returns a patch for the object with the given UID. The patch removes the owner from, if it is set, and adds the
// owner to, if it is not nil. The UID in the patch makes it fail if the name belongs to another object. Owners are merged by
// their UID, so other owners stay.
func OwnersPatch(object, from types.UID, to *metav1.OwnerReference) ([]byte, error) {
	var owners []any
	if from != "" {
		owners = append(owners, map[string]any{"$patch": "delete", "uid": from})
	}
	if to != nil {
		owners = append(owners, to)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": object, "ownerReferences": owners}})
	if err != nil {
		return nil, fmt.Errorf("encode owners: %w", err)
	}
	return patch, nil
}

func (s *server) CreateClaim(ctx context.Context, claim *corev1.PersistentVolumeClaim) (*corev1.PersistentVolumeClaim, error) {
	return s.client.CoreV1().PersistentVolumeClaims(claim.Namespace).Create(ctx, claim, metav1.CreateOptions{})
}

func (s *server) GetClaim(ctx context.Context, namespace, name string) (*corev1.PersistentVolumeClaim, error) {
	return s.client.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (s *server) MoveClaim(ctx context.Context, claim *corev1.PersistentVolumeClaim, from types.UID,
	to metav1.OwnerReference) (*corev1.PersistentVolumeClaim, error) {
	patch, err := OwnersPatch(claim.UID, from, &to)
	if err != nil {
		return nil, err
	}
	return s.client.CoreV1().PersistentVolumeClaims(claim.Namespace).Patch(ctx, claim.Name, types.StrategicMergePatchType, patch,
		metav1.PatchOptions{})
}

func (s *server) PatchClaim(ctx context.Context, before, after *corev1.PersistentVolumeClaim) (*corev1.PersistentVolumeClaim, error) {
	patch, err := podcontrol.ClaimPatch(before, after)
	if err != nil {
		return nil, err
	}
	return s.client.CoreV1().PersistentVolumeClaims(before.Namespace).Patch(ctx, before.Name, types.StrategicMergePatchType, patch,
		metav1.PatchOptions{})
}

func (s *server) DeleteClaim(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	return s.client.CoreV1().PersistentVolumeClaims(claim.Namespace).Delete(ctx, claim.Name, only(claim.UID))
}

func (s *server) CreateRevision(ctx context.Context, revision *appsv1.ControllerRevision) (*appsv1.ControllerRevision, error) {
	return s.client.AppsV1().ControllerRevisions(revision.Namespace).Create(ctx, revision, metav1.CreateOptions{})
}

func (s *server) GetRevision(ctx context.Context, namespace, name string) (*appsv1.ControllerRevision, error) {
	return s.client.AppsV1().ControllerRevisions(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (s *server) UpdateRevision(ctx context.Context, revision *appsv1.ControllerRevision) (*appsv1.ControllerRevision, error) {
	return s.client.AppsV1().ControllerRevisions(revision.Namespace).Update(ctx, revision, metav1.UpdateOptions{})
}

func (s *server) DeleteRevision(ctx context.Context, revision *appsv1.ControllerRevision) error {
	return s.client.AppsV1().ControllerRevisions(revision.Namespace).Delete(ctx, revision.Name, only(revision.UID))
}

func (s *server) AdoptRevision(ctx context.Context, revision *appsv1.ControllerRevision,
	owner metav1.OwnerReference) (*appsv1.ControllerRevision, error) {
	patch, err := OwnersPatch(revision.UID, "", &owner)
	if err != nil {
		return nil, err
	}
	return s.client.AppsV1().ControllerRevisions(revision.Namespace).Patch(ctx, revision.Name, types.StrategicMergePatchType, patch,
		metav1.PatchOptions{})
}
