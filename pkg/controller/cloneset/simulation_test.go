package cloneset

import (
	"flag"
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
	"kruise.io/kruise/pkg/workload/inplace"
	"kruise.io/kruise/pkg/workload/rollout"
)

// A few seconds' worth are simulated unless more are asked for.
var (
	rollouts     = flag.Int("rollouts", 500, "how many rollouts TestSimulatedRollouts simulates")
	firstRollout = flag.Int("first-rollout", 0, "the seed of the first one")
)

// simulation is a cluster without servers. It carries out what the pure functions decide, in the order in which the reconciler
// does, while users, hooks, nodes and servers do as they like; the controller is killed between any two of its writes. After
// each pass it checks that the controller stayed within what the user allowed.
type simulation struct {
	t    *testing.T
	rand *rand.Rand
	view view
	pods []*corev1.Pod
	node *node
	log  []string
	made int
	// sick are the Pods that their nodes report as not ready.
	sick map[string]bool
	// quota is how many Pods the server allows.
	quota int
	// troubled makes writes fail.
	troubled bool
	// writes are left before the controller is killed; below zero there is no end.
	writes int
	// created and deleted count by revision what the controller did since they were last cleared.
	created, deleted map[string]int
}

func newSimulation(t *testing.T, seed uint64) *simulation {
	r := rand.New(rand.NewPCG(seed, seed))
	policies := []pub.PodUpdatePolicyType{
		pub.ReCreatePodUpdatePolicy, pub.InPlaceIfPossiblePodUpdatePolicy, pub.InPlaceIfPossiblePodUpdatePolicy, pub.InPlaceOnlyPodUpdatePolicy,
	}
	set := newSet(int32(r.IntN(9)), policy(policies[r.IntN(len(policies))]))
	set.Spec.Template.Labels["del"], set.Spec.Template.Labels["upd"] = "on", "on"
	s := &simulation{
		t: t, rand: r, sick: map[string]bool{}, quota: 1000, troubled: r.IntN(2) == 0, writes: -1,
		created: map[string]int{}, deleted: map[string]int{},
	}
	s.node = &node{now: controllertest.Now, broken: brokenImage}
	s.view.set, s.view.now = set, controllertest.Now
	s.view.rollback, s.view.preparingUpdateAsUpdate = r.IntN(2) == 0, r.IntN(2) == 0
	s.view.nodeLabels = func(string) map[string]string { return nil }
	s.logf("seed %d policy=%s replicas=%d rollback=%t", seed, s.view.rolling().PodUpdatePolicy, s.view.replicas(), s.view.rollback)
	s.randomKnobs()
	s.randomHooks()
	return s
}

func (s *simulation) logf(format string, args ...any) {
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

func (s *simulation) story() string { return strings.Join(s.log, "\n") }

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
	if v.current = history.Find(v.revisions, v.set.Status.CurrentRevision); v.current == nil || v.rolledOut() {
		v.current = v.update
	}
}

// pass is one reconcile. It returns whether anything was done.
func (s *simulation) pass() bool {
	v := &s.view
	v.now = v.now.Add(time.Second)
	s.node.now = v.now
	s.writes = -1
	if s.troubled && s.rand.IntN(4) == 0 {
		s.writes = s.rand.IntN(3)
		v.sightings = nil
	}
	s.observe()
	s.syncRevisions()
	before := slices.Clone(s.pods)
	done := s.act()
	s.check(before)
	s.observe()
	if s.writes == 0 {
		s.logf("killed")
		return true
	}
	v.set.Status = v.status("", outcome{}, nil)
	s.clearPodsToDelete()
	return done
}

func (s *simulation) observe() {
	s.view.pods, s.view.inactive, s.view.refused = nil, nil, nil
	s.view.sortPods(slices.Clone(s.pods))
}

// write makes a change that a server may refuse, and that a killed controller never makes.
func (s *simulation) write(change func()) bool {
	if s.writes == 0 || s.troubled && s.rand.IntN(12) == 0 {
		return false
	}
	s.writes--
	change()
	return true
}

// act follows Reconciler.act.
func (s *simulation) act() bool {
	v := &s.view
	plan, err := v.scale(true)
	require.NoError(s.t, err)
	acted := s.carryOut(plan)
	if !acted && plan.creates() {
		plan, err = v.scale(false)
		require.NoError(s.t, err)
		acted = s.carryOut(plan)
	}
	if acted {
		return true
	}
	changes, _, err := v.refresh()
	require.NoError(s.t, err)
	if s.apply("refresh", changes) {
		return true
	}
	v.refused = changes
	updates, err := v.updates()
	require.NoError(s.t, err)
	acted = s.apply("hold", updates.changes)
	for _, pod := range updates.recreate {
		acted = s.apply("recreate", []change{recreated(pod)}) || acted
	}
	for _, update := range updates.inPlace {
		acted = s.updateInPlace(update, updates) || acted
	}
	return acted
}

// updateInPlace follows writer.updateInPlace.
func (s *simulation) updateInPlace(update inPlaceUpdate, plan updating) bool {
	base := update.pod
	if update.change.Interrupts(base) && s.view.graceSeconds() == 0 {
		held := base.DeepCopy()
		inplace.Hold(held, s.view.now)
		if !s.apply("out of service", []change{{before: base, after: held}}) {
			return false
		}
		base = held
	}
	after, err := s.view.applied(base, update, plan.target)
	require.NoError(s.t, err)
	if inplace.Delayed(after) {
		inplace.Hold(after, s.view.now)
	}
	s.apply("in place to "+plan.target.Name, []change{{before: base, after: after}})
	return true
}

func (s *simulation) carryOut(plan scaling) (acted bool) {
	v := &s.view
	for i := range plan.createOld + plan.createNew {
		revision := v.update
		if i < plan.createOld {
			revision = v.current
		}
		acted = s.create(revision.Name) || acted
	}
	for _, pod := range plan.delete {
		acted = s.write(func() {
			s.logf("delete %s", pod.Name)
			s.deleted[revisionLabel(pod)]++
			s.remove(pod.Name)
		}) || acted
	}
	return s.apply("scale", plan.changes) || acted
}

func (s *simulation) create(revision string) bool {
	if len(s.pods) >= s.quota {
		return false
	}
	blueprint, err := s.view.blueprint(history.Find(s.view.revisions, revision))
	require.NoError(s.t, err)
	return s.write(func() {
		s.made++
		pod := blueprint.Build(fmt.Sprintf("%05d", s.made), s.view.now)
		pod.UID = types.UID(pod.Name)
		s.pods = append(s.pods, pod)
		s.created[revision]++
		s.logf("create %s at %s", pod.Name, revision)
	})
}

func revisionLabel(pod *corev1.Pod) string { return pod.Labels[pub.ControllerRevisionHashKey] }

func (s *simulation) remove(name string) {
	s.pods = slices.DeleteFunc(s.pods, func(p *corev1.Pod) bool { return p.Name == name })
}

func (s *simulation) apply(what string, changes []change) (acted bool) {
	for _, c := range changes {
		acted = s.write(func() {
			for i := range s.pods {
				if s.pods[i].Name == c.before.Name {
					s.pods[i] = c.after
				}
			}
			s.logf("%s %s %s", what, c.before.Name, c.after.Labels[pub.LifecycleStateKey])
		}) || acted
	}
	return acted
}

func simulate(t *testing.T, seed uint64) {
	s := newSimulation(t, seed)
	for range 60 {
		if s.rand.IntN(5) == 0 {
			s.disturb()
		}
		s.pass()
		s.surroundings(false)
	}
	s.peace()
	s.run()
	s.converged()
	if s.withdrawn() {
		return
	}
	// From here on nothing goes wrong, so nothing that is done may have to be undone.
	clear(s.created)
	clear(s.deleted)
	picked := s.oneChange()
	s.run()
	s.converged()
	s.nothingUndone(picked)
}

// run goes on until nothing happens any more.
func (s *simulation) run() {
	quiet := 0
	for range 500 {
		acted := s.pass()
		if s.surroundings(true) || acted {
			quiet = 0
			continue
		}
		// Times that pass may still bring something about.
		if quiet++; quiet == 8 {
			return
		}
	}
	require.Failf(s.t, "it never comes to rest", "%s", s.story())
}

func TestSimulatedRollouts(t *testing.T) {
	const shards = 4
	for shard := range shards {
		t.Run(fmt.Sprint(shard), func(t *testing.T) {
			t.Parallel()
			for i := shard; i < *rollouts; i += shards {
				simulate(t, uint64(*firstRollout+i))
			}
		})
	}
}

// FuzzRollouts is the same without an end: go test -fuzz FuzzRollouts ./pkg/controller/cloneset.
func FuzzRollouts(f *testing.F) {
	f.Add(uint64(0))
	f.Fuzz(func(t *testing.T, seed uint64) { simulate(t, seed) })
}
