package disruption

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/workload/passes"
)

// Server reads Pods from the API server, past the cache. It caches final answers for one recount: the Pod is deleted or
// terminating, or the grant had expired. A recount whose write conflicts with a new grant is repeated with the same Server, so
// it does not read every Pod again.
type Server struct {
	// live reads a Pod. over are the final answers; nil means that the Pod does not exist.
	live func(name string) (*metav1.ObjectMeta, error)
	over map[look]*metav1.ObjectMeta
}

// look identifies the grant that a Pod was read for. Two grants for the same Pod name never have the same time. A cached answer
// is therefore never used for a later Pod of the same name.
type look struct {
	name   string
	second int64
}

func lookFor(g grant) look { return look{name: g.name, second: g.at.Unix()} }

// NewServer returns a Server with an empty cache. live returns the metadata of a Pod on the API server, or nil if there is no
// such Pod. It is called concurrently.
func NewServer(live func(name string) (*metav1.ObjectMeta, error)) *Server {
	return &Server{live: live, over: map[look]*metav1.ObjectMeta{}}
}

// look returns the Pods of the grants as the API server has them, by name. It uses a cached answer only if the informer cache
// shows the same. The informer cache must be read before look is called.
func (s *Server) look(grants []grant) (map[string]*metav1.ObjectMeta, error) {
	shown := make(map[string]*metav1.ObjectMeta, len(grants))
	var due []grant
	for _, g := range grants {
		live, known := s.over[lookFor(g)]
		if !known || !shows(live, g.cached) {
			due = append(due, g)
			continue
		}
		shown[g.name] = live
	}
	pods := make([]*metav1.ObjectMeta, len(due))
	err := passes.Parallel(len(due), passes.Width, func(i int) (err error) {
		if pods[i], err = s.live(due[i].name); err != nil {
			return fmt.Errorf("read Pod %s: %w", due[i].name, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, pod := range pods {
		shown[due[i].name] = pod
		if pod == nil || pod.DeletionTimestamp != nil || due[i].remaining <= 0 {
			s.over[lookFor(due[i])] = pod
		}
	}
	return shown, nil
}
