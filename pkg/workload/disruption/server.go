package disruption

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/workload/podcontrol"
)

// looksAtOnce is how many Pods are read from the server at once.
const looksAtOnce = 16

// Server reads Pods past the cache, and remembers those that are gone or go, which a Pod stays, and those whose grant was over when
// they were read, which nothing follows from any more. A count that lost against a grant is made again with the same Server, so
// that it need not look at every Pod again while more is granted.
type Server struct {
	live func(name string) (*metav1.ObjectMeta, error)
	over map[look]*metav1.ObjectMeta
}

// look is what was looked at: a grant. Of one name no two have the same time, so what was seen after the one is never taken for
// what comes of the next, of another Pod of that name.
type look struct {
	name   string
	second int64
}

func lookFor(g grant) look { return look{name: g.name, second: g.at.Unix()} }

// NewServer returns one that remembers nothing. Live returns a Pod's metadata on the server, or nil, and is called from several
// goroutines.
func NewServer(live func(name string) (*metav1.ObjectMeta, error)) *Server {
	return &Server{live: live, over: map[look]*metav1.ObjectMeta{}}
}

// look returns the Pods of grants as they are on the server, or were when they were looked at, if the cache shows that. The cache
// must have been read before.
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
	err := podcontrol.Parallel(len(due), looksAtOnce, func(i int) (err error) {
		if pods[i], err = s.live(due[i].name); err != nil {
			return fmt.Errorf("look at Pod %s: %w", due[i].name, err)
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
