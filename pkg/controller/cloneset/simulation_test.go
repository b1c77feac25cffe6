package cloneset

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller/controllertest"
	"kruise.io/kruise/pkg/workload/history"
	"kruise.io/kruise/pkg/workload/rollout"
)

// simulation is a cluster without servers: it carries out what the pure functions decide, while users and nodes do as they
// like, and checks after each pass that the controller stayed within what the user allowed.
type simulation struct {
	t    *testing.T
	rand *rand.Rand
	view view
	pods []*corev1.Pod
	node *node
	log  []string
	made int
}

func newSimulation(t *testing.T, seed uint64) *simulation {
	r := rand.New(rand.NewPCG(seed, seed))
	set := newSet(int32(r.IntN(9)), policy([]pub.PodUpdatePolicyType{pub.ReCreatePodUpdatePolicy, pub.InPlaceIfPossiblePodUpdatePolicy}[r.IntN(2)]))
	s := &simulation{t: t, rand: r, node: &node{now: controllertest.Now, broken: func(image string) bool { return strings.HasPrefix(image, "broken") }}}
	s.view.set, s.view.now = set, controllertest.Now
	s.view.rollback = r.IntN(2) == 0
	s.view.nodeLabels = func(string) map[string]string { return nil }
	s.randomKnobs()
	return s
}

func (s *simulation) logf(format string, args ...any) {
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

func (s *simulation) pick(options ...string) string { return options[s.rand.IntN(len(options))] }

func (s *simulation) randomKnobs() {
	surge := s.pick("0", "0", "1", "2", "50%")
	unavailable := s.pick("1", "2", "20%", "100%")
	if surge != "0" {
		unavailable = s.pick("0", "1", "20%", "50%")
	}
	partition := s.pick("0", "0", "1", "3", "50%", "90%", "100%")
	knobs(partition, unavailable, surge)(&s.view.set.Spec)
	s.logf("partition=%s maxUnavailable=%s maxSurge=%s", partition, unavailable, surge)
}

// resolve asks the engine for nothing but the numbers that percentages stand for.
func (s *simulation) resolve() (partition, maxUnavailable, maxSurge int) {
	r := s.view.rolling()
	replicas := s.view.replicas()
	partition, err := rollout.Partition(r.Partition, replicas)
	require.NoError(s.t, err)
	number := func(text string, up bool) int {
		digits, percent := strings.CutSuffix(text, "%")
		n, err := strconv.Atoi(digits)
		require.NoError(s.t, err)
		if !percent {
			return n
		}
		if up {
			return (n*replicas + 99) / 100
		}
		return n * replicas / 100
	}
	maxSurge = number(r.MaxSurge.String(), true)
	return partition, number(r.MaxUnavailable.String(), maxSurge == 0), maxSurge
}

// syncRevisions does what Reconciler.syncRevisions does, without a server.
func (s *simulation) syncRevisions() {
	v := &s.view
	data, err := history.Data(&v.set.Spec.Template)
	require.NoError(s.t, err)
	history.Sort(v.revisions)
	resolution := history.Resolve(data, v.revisions)
	switch resolution.Action {
	case history.Reuse:
		v.update = resolution.Revision
	case history.Bump:
		v.update = resolution.Revision
		v.update.Revision = resolution.Number
	case history.Create:
		v.update = history.New(v.set, ownerRef(v.set), &v.set.Spec.Template, data, resolution.Number, nil)
		v.revisions = append(v.revisions, v.update)
	}
	if v.current = history.Find(v.revisions, v.set.Status.CurrentRevision); v.current == nil {
		v.current = v.update
	}
}

func (s *simulation) available() (n int) {
	for _, pod := range s.pods {
		if s.view.available(pod) {
			n++
		}
	}
	return n
}

// pass is one reconcile. It returns whether anything was done.
func (s *simulation) pass() bool {
	v := &s.view
	v.now = v.now.Add(time.Second)
	s.node.now = v.now
	s.syncRevisions()
	v.pods, v.inactive = nil, nil
	v.sortPods(slices.Clone(s.pods))
	before := s.available()
	total := len(s.pods)
	done := s.act()
	s.check(before, total)
	v.pods, v.inactive = nil, nil
	v.sortPods(slices.Clone(s.pods))
	v.set.Status = v.status("", outcome{}, nil)
	return done
}

func (s *simulation) act() bool {
	v := &s.view
	plan, err := v.scale(true)
	require.NoError(s.t, err)
	for i := range plan.createOld + plan.createNew {
		revision := v.update
		if i < plan.createOld {
			revision = v.current
		}
		blueprint, err := v.blueprint(revision)
		require.NoError(s.t, err)
		s.made++
		pod := blueprint.Build(fmt.Sprintf("%05d", s.made), v.now)
		pod.UID = types.UID(pod.Name)
		s.pods = append(s.pods, pod)
		s.logf("create %s at %s", pod.Name, revision.Name)
	}
	for _, pod := range plan.delete {
		s.logf("delete %s", pod.Name)
		s.remove(pod.Name)
	}
	s.apply(plan.changes)
	if plan.acts() {
		return true
	}
	changes, _, err := v.refresh()
	require.NoError(s.t, err)
	if s.apply(changes); len(changes) > 0 {
		return true
	}
	updates, err := v.updates()
	require.NoError(s.t, err)
	s.apply(updates.changes)
	for _, pod := range updates.recreate {
		s.logf("recreate %s", pod.Name)
		s.apply([]change{recreated(pod)})
	}
	for _, update := range updates.inPlace {
		s.logf("in place %s to %s", update.pod.Name, updates.target.Name)
		after, err := v.applied(update.pod, update, updates.target)
		require.NoError(s.t, err)
		s.apply([]change{{before: update.pod, after: after}})
	}
	return len(updates.recreate)+len(updates.inPlace)+len(updates.changes) > 0
}

func (s *simulation) remove(name string) {
	s.pods = slices.DeleteFunc(s.pods, func(p *corev1.Pod) bool { return p.Name == name })
}

func (s *simulation) apply(changes []change) {
	for _, c := range changes {
		for i := range s.pods {
			if s.pods[i].Name == c.before.Name {
				s.pods[i] = c.after
			}
		}
	}
}

// check holds the controller to what the user allowed.
func (s *simulation) check(availableBefore, totalBefore int) {
	_, maxUnavailable, maxSurge := s.resolve()
	replicas := s.view.replicas()
	if after := s.available(); after < availableBefore {
		require.GreaterOrEqual(s.t, after, replicas-maxUnavailable, "too many unavailable by the controller's own doing\n%s", s.story())
	}
	if total := len(s.pods); total > totalBefore {
		require.LessOrEqual(s.t, total, replicas+maxSurge, "too many Pods\n%s", s.story())
	}
}

func (s *simulation) story() string { return strings.Join(s.log, "\n") }

// disturb is a user, or bad luck.
func (s *simulation) disturb() {
	set := s.view.set
	switch s.rand.IntN(8) {
	case 0:
		set.Spec.Replicas = new(int32(s.rand.IntN(9)))
		s.logf("replicas=%d", *set.Spec.Replicas)
	case 1, 2:
		image := s.pick("app:1", "app:2", "app:3", "broken:1")
		set.Spec.Template.Spec.Containers[0].Image = image
		s.logf("image=%s", image)
	case 3:
		s.randomKnobs()
	case 4:
		paused := s.rand.IntN(3) == 0
		set.Spec.UpdateStrategy.RollingUpdate.Paused = paused
		s.logf("paused=%t", paused)
	case 5:
		set.Spec.Template.Spec.HostNetwork = !set.Spec.Template.Spec.HostNetwork
		s.logf("hostNetwork=%t", set.Spec.Template.Spec.HostNetwork)
	case 6:
		if len(s.pods) > 0 {
			name := s.pods[s.rand.IntN(len(s.pods))].Name
			s.logf("lose %s", name)
			s.remove(name)
		}
	case 7:
		if len(s.pods) > 0 {
			i := s.rand.IntN(len(s.pods))
			s.logf("specified-delete %s", s.pods[i].Name)
			s.pods[i] = recreated(s.pods[i]).after
		}
	}
	set.Generation++
}

// nodes lets some of the Pods make progress.
func (s *simulation) nodes(all bool) {
	for i, pod := range s.pods {
		if all || s.rand.IntN(2) == 0 {
			after := pod.DeepCopy()
			s.node.run(after)
			s.pods[i] = after
		}
	}
}

func simulate(t *testing.T, seed uint64) {
	s := newSimulation(t, seed)
	s.logf("seed %d", seed)
	for range 60 {
		if s.rand.IntN(5) == 0 {
			s.disturb()
		}
		s.pass()
		s.nodes(false)
	}
	s.view.set.Spec.UpdateStrategy.RollingUpdate.Paused = false
	s.view.set.Spec.Template.Spec.Containers[0].Image = "app:" + s.pick("1", "2", "3")
	s.logf("peace: image=%s", s.view.set.Spec.Template.Spec.Containers[0].Image)
	quiet := 0
	for range 300 {
		before := len(s.log)
		acted := s.pass()
		s.nodes(true)
		if acted || len(s.log) != before {
			quiet = 0
			continue
		}
		if quiet++; quiet == 3 {
			break
		}
	}
	s.converged()
}

// converged holds the end to what the spec says.
func (s *simulation) converged() {
	partition, _, _ := s.resolve()
	replicas := s.view.replicas()
	updated, working := 0, 0
	for _, pod := range s.pods {
		updated += one(s.view.updated(pod))
		working += one(!strings.HasPrefix(pod.Spec.Containers[0].Image, "broken"))
	}
	if working < len(s.pods) && partition > 0 {
		// The partition holds Pods at a revision that never works: what was picked beside them may have to wait.
		_, _, maxSurge := s.resolve()
		require.LessOrEqual(s.t, len(s.pods), replicas+maxSurge, s.story())
		return
	}
	require.Equal(s.t, replicas, len(s.pods), s.story())
	require.GreaterOrEqual(s.t, updated, replicas-partition, s.story())
	require.Equal(s.t, working, s.available(), s.story())
	if s.view.rollback && s.view.current.Name != s.view.update.Name && working == replicas {
		require.Equal(s.t, replicas-partition, updated, s.story())
	}
}

func TestSimulatedRollouts(t *testing.T) {
	count := uint64(1500)
	for seed := range count {
		simulate(t, seed)
		if t.Failed() {
			return
		}
	}
}

// FuzzRollouts is the same without an end: go test -fuzz FuzzRollouts ./pkg/controller/cloneset.
func FuzzRollouts(f *testing.F) {
	f.Add(uint64(0))
	f.Fuzz(func(t *testing.T, seed uint64) { simulate(t, seed) })
}

// Scaling alone deletes and creates no Pod too many.
func TestScalingAloneIsExact(t *testing.T) {
	for seed := range uint64(200) {
		s := newSimulation(t, seed)
		for range 20 {
			s.pass()
			s.nodes(true)
		}
		from := len(s.pods)
		to := s.rand.IntN(9)
		s.view.set.Spec.Replicas = new(int32(to))
		made := s.made
		for range 20 {
			s.pass()
			s.nodes(true)
		}
		require.Equal(t, to, len(s.pods), s.story())
		require.Equal(t, max(0, to-from), s.made-made, s.story())
	}
}
