package imagepuller

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// awayError means that no attempt was possible, because the API cannot be asked for the required Secrets, or because the
// runtime does not answer. It is not the fault of the image or its registry.
type awayError struct {
	problem string
	err     error
}

func (e awayError) Error() string { return e.problem + ": " + e.err.Error() }
func (e awayError) Unwrap() error { return e.err }

// errAway replaces the error of the API in messages, which tells more than the owner of a job may know.
var errAway = errors.New("the Kubernetes API cannot be reached; the log of the node agent on this node says more")

// away returns true for a temporary outage and false for a permanent refusal. After a refusal, the pull goes on
// without the Secrets, and its message says so. Only an API server can refuse: an error without a status comes from the
// network, from name resolution or from TLS.
func away(err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return true
	}
	return answer.Status().Code >= http.StatusInternalServerError ||
		apierrors.IsTooManyRequests(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err)
}

// secretsTTL is how long the Secrets are cached.
const secretsTTL = 5 * time.Minute

// secrets caches the pull secrets of the node. The cache is dropped when no pull runs.
type secrets struct {
	read  func(context.Context) ([]corev1.Secret, error)
	clock clock.PassiveClock

	// mu guards asked and known. It is held while the Secrets are read, so parallel pulls read them once.
	mu    sync.Mutex
	asked time.Time
	known map[types.NamespacedName]*corev1.Secret
}

// get returns the referenced Secrets, and describes the problems of the missing ones. It reads the Secrets again if
// fresh is set, one is unknown, or the cache is too old. The error is always an awayError. During an outage, cached
// Secrets are used if all are known.
func (s *secrets) get(
	ctx context.Context, refs []v1beta1.ReferenceObject, fresh bool,
) (found []*corev1.Secret, problems []string, err error) {
	if len(refs) == 0 {
		return nil, nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if fresh || s.clock.Since(s.asked) >= secretsTTL || !s.have(refs) {
		if err := s.refresh(ctx); err != nil {
			klog.FromContext(ctx).Info("Failed to read the pull secrets", "reason", err)
			if away(err) && !s.have(refs) {
				return nil, nil, awayError{secretsUnread, errAway}
			}
			problems = append(problems, secretsUnread)
		}
	}
	for _, ref := range refs {
		if secret := s.known[types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}]; secret != nil {
			found = append(found, secret)
		} else if len(problems) == 0 {
			klog.FromContext(ctx).Info("A pull secret does not exist or is not available", "secret", klog.KRef(ref.Namespace, ref.Name))
			problems = append(problems, secretMissing)
		}
	}
	return found, problems, nil
}

// have returns true if all referenced Secrets are cached.
func (s *secrets) have(refs []v1beta1.ReferenceObject) bool {
	for _, ref := range refs {
		if s.known[types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}] == nil {
			return false
		}
	}
	return true
}

// refresh replaces the cached Secrets. On an error the cache stays unchanged.
func (s *secrets) refresh(ctx context.Context) error {
	list, err := s.read(ctx)
	if err != nil {
		return err
	}
	s.asked, s.known = s.clock.Now(), map[types.NamespacedName]*corev1.Secret{}
	for i := range list {
		s.known[types.NamespacedName{Namespace: list[i].Namespace, Name: list[i].Name}] = &list[i]
	}
	return nil
}

// forget clears the cache, so the agent keeps no Secret in memory longer than it needs it.
func (s *secrets) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked, s.known = time.Time{}, nil
}
