//go:build e2e && fault

package e2e

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
	typed "kruise.io/kruise/pkg/generated/clientset/versioned/typed/apps/v1beta1"
)

const (
	// idleSets CloneSets of idleReplicas Pods each are changed by nobody. realSets of them run on real nodes.
	idleSets, idleReplicas, realSets = 20, 10, 2
	// changedSets CloneSets are created, updated and deleted all the time, every changeInterval.
	changedSets    = 10
	changeInterval = 100 * time.Millisecond
	// changeTimeout limits one request.
	changeTimeout = 5 * time.Second
	changeKey     = "example.com/change"
)

// load is 20 CloneSets with 200 Pods that nobody changes, and a client that changes other CloneSets all the time. It checks that
// nothing disturbs those Pods, and that the answers that the client gets fit together.
type load struct {
	e *env
	// sets and pods are the UIDs of the CloneSets that nobody changes, and the restart counts of their containers.
	sets map[string]string
	pods map[string]int32

	client typed.CloneSetInterface
	stop   context.CancelFunc
	done   sync.WaitGroup

	lock      sync.Mutex
	histories map[string]*history
	// wrong are answers that contradict earlier ones.
	wrong []string
	// answered and failed count the requests since the last report. last is the time of the last answer, and gap the longest time
	// without one.
	answered, failed int
	last             time.Time
	gap              time.Duration
}

// history is what is known of one CloneSet that the client changes.
type history struct {
	// acknowledged is the state that the server last showed or acknowledged.
	acknowledged string
	// unanswered are the states of writes without an answer. Such a write may take effect until the time.
	unanswered map[string]time.Time
}

// absent is the state of a CloneSet that does not exist. Every other state is the value of the annotation changeKey.
const absent = ""

// startLoad creates the CloneSets, waits for their Pods, and starts the client.
func startLoad(t *testing.T) *load {
	t.Helper()
	e := newEnv(t)
	config := rest.CopyConfig(e.config)
	config.Timeout = changeTimeout
	client, err := versioned.NewForConfig(config)
	require.NoError(t, err)
	l := &load{e: e, sets: map[string]string{}, client: client.AppsV1beta1().CloneSets(e.namespace), histories: map[string]*history{}}
	for i := range idleSets {
		e.apply(idle(i))
	}
	for i := range idleSets {
		set := e.ready(idleName(i), idleReplicas)
		l.sets[set.Name] = string(set.UID)
	}
	l.pods = l.running(t)
	require.Len(t, l.pods, idleSets*idleReplicas)
	for i := range changedSets {
		l.histories["changed-"+strconv.Itoa(i)] = &history{unanswered: map[string]time.Time{}}
	}
	ctx, stop := context.WithCancel(t.Context())
	l.stop, l.last = stop, time.Now()
	l.done.Go(func() { l.run(ctx) })
	t.Cleanup(func() { stop(); l.done.Wait() })
	return l
}

func idleName(i int) string { return "idle-" + strconv.Itoa(i) }

func idle(i int) string {
	changes := []string{"replicas: 3", "replicas: " + strconv.Itoa(idleReplicas), "        app: NAME\n    spec:",
		"        app: " + idleName(i) + "\n        load: idle\n    spec:"}
	if i >= realSets {
		changes = append(changes, "      terminationGracePeriodSeconds: 5", onSimulatedNodes)
	}
	return manifest(idleName(i), changes...)
}

// running returns the restart counts of the Pods that nobody changes.
func (l *load) running(t *testing.T) map[string]int32 {
	t.Helper()
	list, err := l.e.core.CoreV1().Pods(l.e.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "load=idle"})
	require.NoError(t, err)
	return restarts(slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil }))
}

// undisturbed checks that every Pod that nobody changes still runs, without a restart.
func (l *load) undisturbed(t *testing.T) {
	t.Helper()
	require.Equal(t, l.pods, l.running(t), "Pods were deleted or restarted")
}

// report checks the client's history and the CloneSets that nobody changes, and logs the figures since the last report.
func (l *load) report(t *testing.T) {
	t.Helper()
	l.undisturbed(t)
	for name, uid := range l.sets {
		require.Equal(t, uid, string(l.e.cloneSet(name).UID), name)
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	assert.Empty(t, l.wrong, "answers contradict earlier ones")
	t.Logf("%d requests were answered, %d failed, the longest time without an answer was %v",
		l.answered, l.failed, l.gap.Round(10*time.Millisecond))
	l.answered, l.failed, l.gap, l.wrong = 0, 0, 0, nil
}

// served waits until the client is answered again.
func (l *load) served(t *testing.T) {
	t.Helper()
	began := time.Now()
	l.e.eventually("the client is answered", func(c *require.Assertions, _ context.Context) {
		l.lock.Lock()
		defer l.lock.Unlock()
		c.True(l.last.After(began))
	})
}

func (l *load) run(ctx context.Context) {
	tick := time.NewTicker(changeInterval)
	defer tick.Stop()
	for number := 1; ; number++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		l.change(ctx, "changed-"+strconv.Itoa(number%changedSets), strconv.Itoa(number))
	}
}

// change reads a CloneSet, checks the answer, and creates, updates or deletes it.
func (l *load) change(ctx context.Context, name, number string) {
	set, err := l.client.Get(ctx, name, metav1.GetOptions{})
	state := absent
	switch {
	case err == nil:
		state = set.Annotations[changeKey]
	case !missing(err):
		l.count(ctx, false)
		return
	}
	l.shown(name, state)
	l.count(ctx, true)
	next := number
	switch {
	case state == absent:
		err = l.create(ctx, name, number)
	case strings.HasSuffix(number, "7"):
		next = absent
		err = l.client.Delete(ctx, name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(set.UID))})
	default:
		metav1.SetMetaDataAnnotation(&set.ObjectMeta, changeKey, number)
		_, err = l.client.Update(ctx, set, metav1.UpdateOptions{})
	}
	refused := apierrors.IsConflict(err) || missing(err) || apierrors.IsAlreadyExists(err) // The object changed meanwhile.
	l.wrote(name, next, err == nil, refused)
	l.count(ctx, err == nil || refused)
}

// missing reports whether the apiserver answered that the object does not exist. Without an APIService, kube-apiserver answers that
// it does not know the path. That says nothing about the object.
func missing(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

func (l *load) create(ctx context.Context, name, number string) error {
	labels := map[string]string{"app": name}
	_, err := l.client.Create(ctx, &v1beta1.CloneSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{changeKey: number}},
		Spec: v1beta1.CloneSetSpec{
			Replicas: ptr.To[int32](1), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				NodeSelector: map[string]string{"type": "kwok"}, Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
				Containers: []corev1.Container{{Name: "main", Image: "kruise.local/demo:v1"}},
			}},
		},
	}, metav1.CreateOptions{})
	return err
}

// shown checks a state that the server showed: it is the acknowledged one, or that of a write without an answer.
func (l *load) shown(name, state string) {
	l.lock.Lock()
	defer l.lock.Unlock()
	h, now := l.histories[name], time.Now()
	if until, found := h.unanswered[state]; state != h.acknowledged && (!found || now.After(until)) {
		l.wrong = append(l.wrong, sprintf("%s is %q, after %q was acknowledged; without an answer are %v", name, state, h.acknowledged, h.unanswered))
	}
	h.acknowledged = state
	maps.DeleteFunc(h.unanswered, func(_ string, until time.Time) bool { return now.After(until) })
}

// wrote records the answer of a write. kube-apiserver ends a request after a minute.
func (l *load) wrote(name, state string, stored, refused bool) {
	l.lock.Lock()
	defer l.lock.Unlock()
	switch h := l.histories[name]; {
	case stored:
		h.acknowledged = state
	case !refused:
		h.unanswered[state] = time.Now().Add(time.Minute)
	}
}

// count counts a request that was answered, or failed.
func (l *load) count(ctx context.Context, answered bool) {
	if ctx.Err() != nil {
		return
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	if !answered {
		l.failed++
		return
	}
	now := time.Now()
	l.answered++
	l.gap, l.last = max(l.gap, now.Sub(l.last)), now
}
