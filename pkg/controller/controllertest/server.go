package controllertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/podcontrol"
)

// errKilled is the error of every write after the controller was killed. The write does not arrive.
var errKilled = errors.New("the controller was killed")

var (
	pods      = engine.PodResource.GroupResource()
	claims    = engine.ClaimResource.GroupResource()
	revisions = engine.RevisionResource.GroupResource()
)

// Server is an in-memory API server for simulations. It keeps every version, so caches can lag behind it. It disturbs writes the
// way networks, quotas and other clients do. It is not safe for concurrent use.
type Server struct {
	Rand *rand.Rand
	// Faults makes requests fail: the server rejects them, answers with an unspecific error, or carries them out without an
	// answer.
	Faults bool
	// Quota is the maximum number of Pods.
	Quota int
	// WritesLeft is the number of writes until the controller is killed. If negative, the controller is not killed.
	WritesLeft int
	// Interfere is called between some writes while Faults is set. It may change anything.
	Interfere func()
	// OnWrite is called for each write that the server carries out.
	OnWrite func(verb string, object metav1.Object)

	pods      table[*corev1.Pod]
	claims    table[*corev1.PersistentVolumeClaim]
	revisions table[*appsv1.ControllerRevision]
	version   int64
	log       []entry
	uids      int
	// silent is true after a write without an answer, while the connection may still be down.
	silent bool
	// late are creations whose answer was lost and that arrive later.
	late []*corev1.Pod
}

var _ engine.Server = &Server{}

// entry is one version of one object. It has no object if the object was deleted.
type entry struct {
	version  int64
	resource schema.GroupResource
	name     string
	object   metav1.Object
}

// table holds the current objects of one resource by name.
type table[T metav1.Object] map[string]T

// NewServer returns an empty server without trouble.
func NewServer(r *rand.Rand) *Server {
	return &Server{
		Rand: r, Quota: 1000, WritesLeft: -1, version: 1,
		OnWrite: func(string, metav1.Object) {}, Interfere: func() {},
		pods: table[*corev1.Pod]{}, claims: table[*corev1.PersistentVolumeClaim]{}, revisions: table[*appsv1.ControllerRevision]{},
	}
}

// Version returns the newest version of any object.
func (s *Server) Version() int64 { return s.version }

// store makes the object the newest version of its name. The server owns the object from then on.
func (s *Server) store(resource schema.GroupResource, object metav1.Object) {
	s.version++
	object.SetResourceVersion(strconv.FormatInt(s.version, 10))
	switch o := object.(type) {
	case *corev1.Pod:
		s.pods[o.Name] = o
	case *corev1.PersistentVolumeClaim:
		s.claims[o.Name] = o
	case *appsv1.ControllerRevision:
		s.revisions[o.Name] = o
	}
	s.log = append(s.log, entry{version: s.version, resource: resource, name: object.GetName(), object: object})
}

func (s *Server) remove(resource schema.GroupResource, name string) {
	s.version++
	switch resource {
	case pods:
		delete(s.pods, name)
	case claims:
		delete(s.claims, name)
	case revisions:
		delete(s.revisions, name)
	}
	s.log = append(s.log, entry{version: s.version, resource: resource, name: name})
}

// writeResult is what happens to a write.
type writeResult int

const (
	fine writeResult = iota
	refused
	failed
	answerLost
)

// chance sets the probability of each kind of trouble: one in chance writes.
const chance = 25

// resultOfWrite decides what happens to a write, and returns its error.
func (s *Server) resultOfWrite() (writeResult, error) {
	if s.WritesLeft == 0 {
		return refused, errKilled
	}
	s.WritesLeft--
	s.silent = false
	if !s.Faults {
		return fine, nil
	}
	if s.Rand.IntN(chance/5) == 0 {
		s.Interfere()
	}
	switch s.Rand.IntN(chance) {
	case 0:
		return refused, apierrors.NewForbidden(pods, "", errors.New("by chance"))
	case 1:
		return failed, apierrors.NewInternalError(errors.New("a webhook failed"))
	case 2:
		s.silent = s.Rand.IntN(2) == 0
		return answerLost, apierrors.NewTimeoutError("no answer", 1)
	default:
		return fine, nil
	}
}

// Write carries out a write to an object that another server stores, with the same troubles.
func (s *Server) Write(change func() (metav1.Object, error)) (metav1.Object, error) {
	return write(s, "write", change)
}

// write carries out a change or not, and returns what the caller learns.
func write[T metav1.Object](s *Server, verb string, change func() (T, error)) (T, error) {
	var none T
	result, trouble := s.resultOfWrite()
	if result == refused || result == failed {
		return none, trouble
	}
	object, err := change()
	if err != nil {
		return none, err
	}
	s.OnWrite(verb, object)
	if result == answerLost {
		return none, trouble
	}
	return object, nil
}

// read answers a GET request.
func read[T metav1.Object](s *Server, objects table[T], resource schema.GroupResource, name string) (T, error) {
	var none T
	if s.WritesLeft == 0 {
		return none, errKilled
	}
	if s.Faults && (s.silent || s.Rand.IntN(chance) == 0) {
		s.silent = false
		return none, apierrors.NewServiceUnavailable("away")
	}
	if object, found := objects[name]; found {
		return object, nil
	}
	return none, apierrors.NewNotFound(resource, name)
}

func (s *Server) uid() types.UID {
	s.uids++
	return types.UID(strconv.Itoa(s.uids))
}

// CreatePod implements engine.Server. A creation whose answer is lost may arrive after the controller looked for the Pod.
func (s *Server) CreatePod(_ context.Context, pod *corev1.Pod, dryRun bool) (*corev1.Pod, error) {
	if dryRun {
		return pod, s.admit(pod)
	}
	if s.Faults && s.WritesLeft != 0 && s.Rand.IntN(2*chance) == 0 {
		s.late, s.silent = append(s.late, pod), s.Rand.IntN(2) == 0
		return nil, apierrors.NewTimeoutError("no answer", 1)
	}
	return write(s, "create", func() (*corev1.Pod, error) { return s.createPod(pod) })
}

func (s *Server) admit(pod *corev1.Pod) error {
	switch {
	case s.pods[pod.Name] != nil:
		return apierrors.NewAlreadyExists(pods, pod.Name)
	case len(s.pods) >= s.Quota:
		return apierrors.NewForbidden(pods, pod.Name, errors.New("exceeded quota"))
	}
	return nil
}

func (s *Server) createPod(pod *corev1.Pod) (*corev1.Pod, error) {
	if err := s.admit(pod); err != nil {
		return nil, err
	}
	created := pod.DeepCopy()
	created.UID, created.Generation = s.uid(), 1
	s.store(pods, created)
	return created, nil
}

// Arrive lets the delayed creations arrive.
func (s *Server) Arrive() {
	for _, pod := range s.late {
		if created, err := s.createPod(pod); err == nil {
			s.OnWrite("create", created)
		}
	}
	s.late = nil
}

// GetPod implements engine.Server.
func (s *Server) GetPod(_ context.Context, _, name string) (*corev1.Pod, error) {
	return read(s, s.pods, pods, name)
}

// PatchPod implements engine.Server.
func (s *Server) PatchPod(_ context.Context, change *engine.Change, dryRun bool) (*corev1.Pod, error) {
	if dryRun {
		return s.patched(change)
	}
	return write(s, "patch", func() (*corev1.Pod, error) {
		after, err := s.patched(change)
		if err == nil {
			s.store(pods, after)
		}
		return after, err
	})
}

func (s *Server) patched(change *engine.Change) (*corev1.Pod, error) {
	now, before := s.pods[change.Before.Name], change.Before
	switch {
	case now == nil:
		return nil, apierrors.NewNotFound(pods, before.Name)
	case now.UID != before.UID:
		return nil, apierrors.NewConflict(pods, before.Name, errors.New("another UID"))
	case now.ResourceVersion != before.ResourceVersion && change.Exact:
		return nil, apierrors.NewConflict(pods, before.Name, errors.New("another version"))
	}
	after := change.After
	if now.ResourceVersion != before.ResourceVersion {
		merged, err := merge(now, change)
		if err != nil {
			return nil, err
		}
		after = merged
	}
	stored := now.DeepCopy()
	stored.Labels, stored.Annotations, stored.Finalizers = after.Labels, after.Annotations, after.Finalizers
	if change.Part == engine.Status {
		stored.Status = *after.Status.DeepCopy()
		return stored, nil
	}
	stored.Spec = *after.Spec.DeepCopy()
	stored.Generation++
	return stored, nil
}

// merge applies a change to a Pod that others have changed since it was read.
func merge(now *corev1.Pod, change *engine.Change) (*corev1.Pod, error) {
	patch, err := podcontrol.Patch(change.Before, change.After, false)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(now)
	if err != nil {
		return nil, fmt.Errorf("encode Pod: %w", err)
	}
	if text, err = strategicpatch.StrategicMergePatch(text, patch, corev1.Pod{}); err != nil {
		return nil, fmt.Errorf("patch Pod: %w", err)
	}
	merged := &corev1.Pod{}
	return merged, json.Unmarshal(text, merged)
}

// DeletePod implements engine.Server. The Pod exists until its node has stopped it.
func (s *Server) DeletePod(_ context.Context, pod *corev1.Pod) error {
	_, err := write(s, "delete", func() (*corev1.Pod, error) {
		now := s.pods[pod.Name]
		if now == nil || now.UID != pod.UID {
			return nil, apierrors.NewNotFound(pods, pod.Name)
		}
		if now.DeletionTimestamp == nil {
			return s.Terminate(now), nil
		}
		return now, nil
	})
	return err
}

// Terminate starts the deletion of a Pod, as any client may.
func (s *Server) Terminate(pod *corev1.Pod) *corev1.Pod {
	leaving := pod.DeepCopy()
	leaving.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	s.store(pods, leaving)
	return leaving
}

// DisownPod implements engine.Server.
func (s *Server) DisownPod(_ context.Context, pod *corev1.Pod, _ types.UID) (*corev1.Pod, error) {
	return write(s, "disown", func() (*corev1.Pod, error) {
		now := s.pods[pod.Name]
		if now == nil || now.UID != pod.UID {
			return nil, apierrors.NewNotFound(pods, pod.Name)
		}
		after := now.DeepCopy()
		after.OwnerReferences = nil
		s.store(pods, after)
		return after, nil
	})
}

// AdoptPod implements engine.Server.
func (s *Server) AdoptPod(_ context.Context, pod *corev1.Pod, owner metav1.OwnerReference) (*corev1.Pod, error) {
	return write(s, "adopt", func() (*corev1.Pod, error) {
		now := s.pods[pod.Name]
		if now == nil || now.UID != pod.UID {
			return nil, apierrors.NewNotFound(pods, pod.Name)
		}
		after := now.DeepCopy()
		after.OwnerReferences = append(after.OwnerReferences, owner)
		s.store(pods, after)
		return after, nil
	})
}

// CreateClaim implements engine.Server.
func (s *Server) CreateClaim(_ context.Context, claim *corev1.PersistentVolumeClaim) (*corev1.PersistentVolumeClaim, error) {
	return write(s, "create", func() (*corev1.PersistentVolumeClaim, error) {
		if s.claims[claim.Name] != nil {
			return nil, apierrors.NewAlreadyExists(claims, claim.Name)
		}
		created := claim.DeepCopy()
		created.UID = s.uid()
		s.store(claims, created)
		return created, nil
	})
}

// GetClaim implements engine.Server.
func (s *Server) GetClaim(_ context.Context, _, name string) (*corev1.PersistentVolumeClaim, error) {
	return read(s, s.claims, claims, name)
}

// MoveClaim implements engine.Server.
func (s *Server) MoveClaim(_ context.Context, claim *corev1.PersistentVolumeClaim, _ types.UID,
	to metav1.OwnerReference) (*corev1.PersistentVolumeClaim, error) {
	return write(s, "move", func() (*corev1.PersistentVolumeClaim, error) {
		now := s.claims[claim.Name]
		if now == nil || now.UID != claim.UID {
			return nil, apierrors.NewNotFound(claims, claim.Name)
		}
		after := now.DeepCopy()
		after.OwnerReferences = []metav1.OwnerReference{to}
		s.store(claims, after)
		return after, nil
	})
}

// PatchClaim implements engine.Server.
func (s *Server) PatchClaim(_ context.Context, before, after *corev1.PersistentVolumeClaim) (*corev1.PersistentVolumeClaim, error) {
	return write(s, "patch", func() (*corev1.PersistentVolumeClaim, error) {
		now := s.claims[before.Name]
		switch {
		case now == nil || now.UID != before.UID:
			return nil, apierrors.NewNotFound(claims, before.Name)
		case now.ResourceVersion != before.ResourceVersion:
			return nil, apierrors.NewConflict(claims, before.Name, errors.New("another version"))
		}
		written := after.DeepCopy()
		s.store(claims, written)
		return written, nil
	})
}

// DeleteClaim implements engine.Server.
func (s *Server) DeleteClaim(_ context.Context, claim *corev1.PersistentVolumeClaim) error {
	_, err := write(s, "delete", func() (*corev1.PersistentVolumeClaim, error) {
		if now := s.claims[claim.Name]; now == nil || now.UID != claim.UID {
			return nil, apierrors.NewNotFound(claims, claim.Name)
		}
		s.remove(claims, claim.Name)
		return claim, nil
	})
	return err
}

// CreateRevision implements engine.Server.
func (s *Server) CreateRevision(_ context.Context, revision *appsv1.ControllerRevision) (*appsv1.ControllerRevision, error) {
	return write(s, "create", func() (*appsv1.ControllerRevision, error) {
		if s.revisions[revision.Name] != nil {
			return nil, apierrors.NewAlreadyExists(revisions, revision.Name)
		}
		created := revision.DeepCopy()
		created.UID = s.uid()
		s.store(revisions, created)
		return created, nil
	})
}

// GetRevision implements engine.Server.
func (s *Server) GetRevision(_ context.Context, _, name string) (*appsv1.ControllerRevision, error) {
	return read(s, s.revisions, revisions, name)
}

// UpdateRevision implements engine.Server.
func (s *Server) UpdateRevision(_ context.Context, revision *appsv1.ControllerRevision) (*appsv1.ControllerRevision, error) {
	return write(s, "update", func() (*appsv1.ControllerRevision, error) {
		now := s.revisions[revision.Name]
		if now == nil {
			return nil, apierrors.NewNotFound(revisions, revision.Name)
		}
		if now.ResourceVersion != revision.ResourceVersion {
			return nil, apierrors.NewConflict(revisions, revision.Name, errors.New("another version"))
		}
		after := revision.DeepCopy()
		s.store(revisions, after)
		return after, nil
	})
}

// DeleteRevision implements engine.Server.
func (s *Server) DeleteRevision(_ context.Context, revision *appsv1.ControllerRevision) error {
	_, err := write(s, "delete", func() (*appsv1.ControllerRevision, error) {
		if s.revisions[revision.Name] == nil {
			return nil, apierrors.NewNotFound(revisions, revision.Name)
		}
		s.remove(revisions, revision.Name)
		return revision, nil
	})
	return err
}

// AdoptRevision implements engine.Server.
func (s *Server) AdoptRevision(_ context.Context, revision *appsv1.ControllerRevision, owner metav1.OwnerReference) (
	*appsv1.ControllerRevision, error) {
	return write(s, "adopt", func() (*appsv1.ControllerRevision, error) {
		now := s.revisions[revision.Name]
		if now == nil || now.UID != revision.UID {
			return nil, apierrors.NewNotFound(revisions, revision.Name)
		}
		after := now.DeepCopy()
		after.OwnerReferences = append(after.OwnerReferences, owner)
		s.store(revisions, after)
		return after, nil
	})
}
