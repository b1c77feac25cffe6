package imagepuller

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/generated/clientset/versioned/fake"
	"kruise.io/kruise/pkg/nodeagent/agenttest"
	"kruise.io/kruise/pkg/nodeagent/cluster/clustertest"
	"kruise.io/kruise/pkg/nodeagent/credentials"
)

const node = "node-1"

// request is one call of PullImage.
type request struct {
	image   string
	auth    *runtimeapi.AuthConfig
	sandbox *runtimeapi.PodSandboxConfig
}

// fakeRuntime is a container runtime that stores images and handles pulls as the test tells it.
type fakeRuntime struct {
	mu sync.Mutex
	// pull handles a request. By default it succeeds.
	pull          func(ctx context.Context, r request) (string, error)
	images        []*runtimeapi.Image
	requests      []request
	running, most int
}

func (r *fakeRuntime) ImageStatus(_ context.Context, spec *runtimeapi.ImageSpec, _ bool) (*runtimeapi.ImageStatusResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, image := range r.images {
		for _, name := range append(image.GetRepoTags(), image.GetRepoDigests()...) {
			// As with a runtime, the image is found by its full name if it is listed by a short one.
			if strings.HasSuffix(spec.GetImage(), name) {
				return &runtimeapi.ImageStatusResponse{Image: image}, nil
			}
		}
	}
	return &runtimeapi.ImageStatusResponse{}, nil
}

func (r *fakeRuntime) PullImage(ctx context.Context, spec *runtimeapi.ImageSpec, auth *runtimeapi.AuthConfig,
	sandbox *runtimeapi.PodSandboxConfig,
) (string, error) {
	asked := request{spec.GetImage(), auth, sandbox}
	r.mu.Lock()
	r.requests = append(r.requests, asked)
	r.running++
	r.most = max(r.most, r.running)
	pull := r.pull
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.running--
	}()
	if pull == nil {
		return "sha256:pulled", nil
	}
	return pull(ctx, asked)
}

// using returns images for Config.Images.
func using(images Images) func(context.Context) (Images, error) {
	return func(context.Context) (Images, error) { return images, nil }
}

// answers sets the function that handles further requests.
func (r *fakeRuntime) answers(pull func(context.Context, request) (string, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pull = pull
}

// has adds an image to the runtime.
func (r *fakeRuntime) has(id string, tags ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.images = append(r.images, &runtimeapi.Image{Id: id, RepoTags: tags})
}

// pulling returns how many pulls are running.
func (r *fakeRuntime) pulling() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running
}

// asked returns the pulled images, in order.
func (r *fakeRuntime) asked() (images []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, request := range r.requests {
		images = append(images, request.image)
	}
	return images
}

// hang blocks until ctx ends.
func hang(ctx context.Context, _ request) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}

// refuse fails immediately.
func refuse(context.Context, request) (string, error) {
	return "", errors.New("dial tcp 10.0.0.1:443: connect: connection refused")
}

// world is an agent with its runtime and its API, in virtual time.
type world struct {
	t       *testing.T
	client  *fake.Clientset
	runtime *fakeRuntime
	events  *record.FakeRecorder
	config  Config
	mu      sync.Mutex
	secrets []corev1.Secret
	reads   int
	stop    func()

	controller *Controller
}

// inWorld runs a test with a NodeImage that the function ask fills.
func inWorld(t *testing.T, ask func(*v1beta1.NodeImage), test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		image := &v1beta1.NodeImage{ObjectMeta: metav1.ObjectMeta{Name: node, UID: "uid-1"}}
		ask(image)
		w := &world{
			t: t, client: fake.NewClientset(image), runtime: &fakeRuntime{}, events: record.NewFakeRecorder(1000), stop: func() {},
		}
		w.config = Config{
			Node: node, Client: clustertest.New(nil, w.client), Images: using(w.runtime), Plugins: &credentials.Plugins{}, Recorder: w.events, Clock: clock.RealClock{},
			Secrets: func(context.Context) ([]corev1.Secret, error) {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.reads++
				return w.secrets, nil
			},
		}
		defer func() { w.stop() }()
		test(w)
	})
}

// start runs the agent until stop, and waits until it is idle.
func (w *world) start() {
	w.t.Helper()
	c, err := New(w.config)
	require.NoError(w.t, err)
	w.controller = c
	ctx := klog.NewContext(w.t.Context(), ktesting.NewLogger(w.t, ktesting.NewConfig(ktesting.Verbosity(2))))
	end := agenttest.Run(ctx, c.Run)
	w.stop = func() {
		began := time.Now()
		end()
		assert.Less(w.t, time.Since(began), 5*time.Second, "it ends soon")
		w.stop = func() {}
	}
	agenttest.Pass(time.Second)
}

// holds replaces the existing Secrets.
func (w *world) holds(secrets ...corev1.Secret) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.secrets = secrets
}

func (w *world) get() *v1beta1.NodeImage {
	w.t.Helper()
	image, err := w.client.AppsV1beta1().NodeImages().Get(w.t.Context(), node, metav1.GetOptions{})
	require.NoError(w.t, err)
	return image
}

// change edits the spec of the NodeImage as the controllers do.
func (w *world) change(edit func(*v1beta1.NodeImage)) {
	w.t.Helper()
	image := w.get()
	edit(image)
	_, err := w.client.AppsV1beta1().NodeImages().Update(w.t.Context(), image, metav1.UpdateOptions{})
	require.NoError(w.t, err)
	agenttest.Pass(time.Second)
}

// report returns the status of a tag, or an empty status.
func (w *world) report(image, tag string) v1beta1.ImageTagStatus {
	w.t.Helper()
	return ptr.Deref(reportOf(w.get(), image, tag), v1beta1.ImageTagStatus{})
}

// writes returns how many times the status was written.
func (w *world) writes() (n int) {
	for _, action := range w.client.Actions() {
		if action.Matches("update", "nodeimages") && action.GetSubresource() == "status" {
			n++
		}
	}
	return n
}

// told returns the events so far.
func (w *world) told() (events []string) {
	for {
		select {
		case event := <-w.events.Events:
			events = append(events, event)
		default:
			slices.Sort(events)
			return events
		}
	}
}

// wants requests tags of one image.
func wants(image string, tags ...v1beta1.ImageTagSpec) func(*v1beta1.NodeImage) {
	return func(n *v1beta1.NodeImage) {
		for i := range tags {
			tags[i].CreatedAt = new(metav1.Now())
		}
		if n.Spec.Images == nil {
			n.Spec.Images = map[string]v1beta1.ImageSpec{}
		}
		spec := n.Spec.Images[image]
		spec.Tags = tags
		n.Spec.Images[image] = spec
	}
}

// tag returns a tag with the given edits.
func tag(name string, edits ...func(*v1beta1.ImageTagSpec)) v1beta1.ImageTagSpec {
	t := v1beta1.ImageTagSpec{Tag: name, PullPolicy: &v1beta1.ImageTagPullPolicy{
		TimeoutSeconds: ptr.To[int32](600), BackoffLimit: ptr.To[int32](3), TTLSecondsAfterFinished: ptr.To[int32](300),
	}}
	for _, edit := range edits {
		edit(&t)
	}
	return t
}

func version(v int64) func(*v1beta1.ImageTagSpec) {
	return func(t *v1beta1.ImageTagSpec) { t.Version = v }
}

func always(t *v1beta1.ImageTagSpec) { t.ImagePullPolicy = v1beta1.PullAlways }

func tries(timeout, retries int32) func(*v1beta1.ImageTagSpec) {
	return func(t *v1beta1.ImageTagSpec) {
		t.PullPolicy.TimeoutSeconds, t.PullPolicy.BackoffLimit = &timeout, &retries
	}
}
