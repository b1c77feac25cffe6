package imagepull

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// awayError tells that Secrets that are needed cannot be read now, because a server is away.
type awayError struct{ err error }

func (e awayError) Error() string {
	return fmt.Sprintf("the pull secrets cannot be read now: %v", e.err)
}
func (e awayError) Unwrap() error { return e.err }

// away tells an outage, which ends, from a refusal, which does not.
func away(err error) bool {
	return apierrors.IsServiceUnavailable(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
		apierrors.IsTooManyRequests(err) || apierrors.IsInternalError(err) ||
		utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsTimeout(err)
}

// secretsTTL is how long the Secrets that were read last count as fresh.
const secretsTTL = 5 * time.Minute

// secrets keeps the pull secrets of the node while images are pulled, and no longer.
type secrets struct {
	read  func(context.Context) ([]corev1.Secret, error)
	clock clock.PassiveClock

	mu    sync.Mutex
	asked time.Time
	known map[types.NamespacedName]*corev1.Secret
}

// get returns the Secrets that are named, and what is wrong with those that it does not return. It reads them anew when asked
// to, when one is not known, or when they are old. An error is an awayError.
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
			if away(err) && !s.have(refs) {
				return nil, nil, awayError{err}
			}
			problems = append(problems, fmt.Sprintf("the pull secrets could not be read: %v", err))
		}
	}
	for _, ref := range refs {
		if secret := s.known[types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}]; secret != nil {
			found = append(found, secret)
		} else if len(problems) == 0 {
			problems = append(problems, fmt.Sprintf("pull secret %s does not exist, or is not one that node agents are given",
				klog.KRef(ref.Namespace, ref.Name)))
		}
	}
	return found, problems, nil
}

func (s *secrets) have(refs []v1beta1.ReferenceObject) bool {
	for _, ref := range refs {
		if s.known[types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}] == nil {
			return false
		}
	}
	return true
}

// refresh replaces what is known, or leaves it when it cannot.
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

// forget drops what is known.
func (s *secrets) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked, s.known = time.Time{}, nil
}
