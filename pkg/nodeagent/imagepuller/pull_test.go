package imagepuller

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/nodeagent/agenttest"
	"kruise.io/kruise/pkg/nodeagent/credentials"
)

// Case image-predownload 17.
func TestAttemptsAreLimited(t *testing.T) {
	tests := map[string]struct {
		tag          v1beta1.ImageTagSpec
		pull         func(context.Context, request) (string, error)
		wantAttempts int
		wantTime     time.Duration
		wantMessage  string
	}{
		"refused at once": {tag("1", tries(5, 1)), refuse, 2, time.Second,
			"the registry cannot be reached: dial tcp 10.0.0.1:443: connect: connection refused"},
		"hanging": {tag("1", tries(5, 1)), hang, 2, 5*time.Second + time.Second + 5*time.Second,
			"the pull did not finish within 5s (pullPolicy.timeoutSeconds); check the registry, or raise the timeout"},
		"no retries":               {tag("1", tries(5, 0)), refuse, 1, 0, "the registry cannot be reached: dial tcp 10.0.0.1:443: connect: connection refused"},
		"a negative limit is 3":    {tag("1", tries(5, -1)), refuse, 4, 1 + 2 + 4, "connection refused"},
		"pauses double up to 30 s": {tag("1", tries(5, 8)), refuse, 9, (1 + 2 + 4 + 8 + 16 + 30 + 30 + 30) * time.Second, "connection refused"},
		"no limits given": {v1beta1.ImageTagSpec{Tag: "1"}, hang, 4, 4*10*time.Minute + 7*time.Second,
			"the pull did not finish within 10m0s"},
		"an invalid name is not tried": {tag("A b"), refuse, 0, 0, `invalid image reference "nginx:A b": invalid reference format`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inWorld(t, wants("nginx", test.tag), func(w *world) {
				w.runtime.answers(test.pull)
				w.start()
				agenttest.Pass(2 * time.Hour)
				report := w.report("nginx", test.tag.Tag)
				assert.Equal(t, v1beta1.ImagePhaseFailed, report.Phase)
				assert.Contains(t, report.Message, test.wantMessage)
				assert.Len(t, w.runtime.asked(), test.wantAttempts)
				if test.wantTime > time.Second {
					assert.Equal(t, test.wantTime.Truncate(time.Second), report.CompletionTime.Sub(report.StartTime.Time).Truncate(time.Second))
				}
				assert.Zero(t, report.Progress)
				assert.EqualValues(t, 1, w.get().Status.Failed)
				agenttest.Pass(2 * time.Hour)
				assert.Len(t, w.runtime.asked(), test.wantAttempts, "it is over")
			})
		})
	}
}

func TestFailedAttemptIsReported(t *testing.T) {
	inWorld(t, wants("nginx", tag("1", tries(600, 5))), func(w *world) {
		w.runtime.answers(refuse)
		w.start()
		agenttest.Pass(4 * time.Second)
		report := w.report("nginx", "1")
		assert.Equal(t, v1beta1.ImagePhasePulling, report.Phase)
		assert.Equal(t, "attempt 3 of 6 failed, the next one is in 4s: the registry cannot be reached: "+
			"dial tcp 10.0.0.1:443: connect: connection refused", report.Message)
		w.runtime.answers(nil)
		agenttest.Pass(time.Minute)
		report = w.report("nginx", "1")
		assert.Equal(t, v1beta1.ImagePhaseSucceeded, report.Phase)
		assert.Empty(t, report.Message)
	})
}

func TestDeadlineEndsAllAttempts(t *testing.T) {
	deadline := func(t *v1beta1.ImageTagSpec) { t.PullPolicy.ActiveDeadlineSeconds = ptr.To[int64](60) }
	for name, pull := range map[string]func(context.Context, request) (string, error){"in an attempt": hang, "in a pause": refuse} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, wants("nginx", tag("1", tries(50, 100), deadline)), func(w *world) {
				w.runtime.answers(pull)
				w.start()
				agenttest.Pass(58 * time.Second)
				assert.Equal(t, v1beta1.ImagePhasePulling, w.report("nginx", "1").Phase)
				agenttest.Pass(10 * time.Second)
				report := w.report("nginx", "1")
				assert.Equal(t, v1beta1.ImagePhaseFailed, report.Phase)
				assert.Equal(t, "pulling exceeds the activeDeadlineSeconds", report.Message)
				assert.Equal(t, 61*time.Second, report.CompletionTime.Sub(report.StartTime.Time))
			})
		})
	}
}

// Case image-predownload 18: the start time that the agent reports has whole seconds. The pull still gets the whole deadline, so its job
// can end first.
func TestPullGetsItsWholeDeadline(t *testing.T) {
	deadline := func(t *v1beta1.ImageTagSpec) { t.PullPolicy.ActiveDeadlineSeconds = ptr.To[int64](60) }
	inWorld(t, wants("nginx", tag("1", tries(50, 100), deadline)), func(w *world) {
		var began time.Time
		w.runtime.answers(func(ctx context.Context, r request) (string, error) {
			if began.IsZero() {
				began = time.Now()
			}
			return refuse(ctx, r)
		})
		agenttest.Pass(800 * time.Millisecond)
		w.start()
		require.NotZero(t, began.Nanosecond(), "it does not begin at a full second")
		agenttest.Pass(time.Until(began.Add(time.Minute)))
		assert.Equal(t, v1beta1.ImagePhasePulling, w.report("nginx", "1").Phase)
		agenttest.Pass(10 * time.Second)
		assert.Equal(t, "pulling exceeds the activeDeadlineSeconds", w.report("nginx", "1").Message)
	})
}

// secret returns a pull secret with a password for one registry.
func secret(name, registry, password string) corev1.Secret {
	data, _ := json.Marshal(map[string]any{"auths": map[string]any{registry: map[string]string{"username": "jane", "password": password}}})
	return corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kruise-daemon-config", Name: name}, Type: corev1.SecretTypeDockerConfigJson,
		Data: map[string][]byte{corev1.DockerConfigJsonKey: data},
	}
}

// withSecrets requests example.com/app:1 with pull secrets.
func withSecrets(names ...string) func(*v1beta1.NodeImage) {
	return func(n *v1beta1.NodeImage) {
		spec := v1beta1.ImageSpec{Tags: []v1beta1.ImageTagSpec{tag("1", tries(600, 0))}}
		for _, name := range names {
			spec.PullSecrets = append(spec.PullSecrets, v1beta1.ReferenceObject{Namespace: "kruise-daemon-config", Name: name})
		}
		n.Spec.Images = map[string]v1beta1.ImageSpec{"example.com/app": spec}
	}
}

// guarded acts as a registry that requires the password "right".
func guarded(_ context.Context, r request) (string, error) {
	if r.auth.GetPassword() == "right" {
		return "sha256:abc", nil
	}
	return "", errors.New("failed to resolve reference: unexpected status from HEAD request: 401 Unauthorized for " + r.auth.GetPassword())
}

// Case image-predownload 49: the older type of Secret that holds the newer type's content.
func TestSecretWithTheWrongFormatIsSkipped(t *testing.T) {
	inWorld(t, withSecrets("mistaken"), func(w *world) {
		mistaken := secret("mistaken", "example.com", "right")
		mistaken.Type, mistaken.Data = corev1.SecretTypeDockercfg, map[string][]byte{corev1.DockerConfigKey: mistaken.Data[corev1.DockerConfigJsonKey]}
		w.secrets = []corev1.Secret{mistaken}
		w.runtime.answers(nil)
		w.start()
		require.Len(t, w.runtime.requests, 1)
		assert.Nil(t, w.runtime.requests[0].auth)
		assert.Equal(t, v1beta1.ImagePhaseSucceeded, w.report("example.com/app", "1").Phase)
	})
}

// Case image-predownload 37.
func TestCredentialsAreTriedInTurn(t *testing.T) {
	wrong, right := secret("wrong", "example.com", "wrong"), secret("right", "example.com", "right")
	tests := map[string]struct {
		names     []string
		secrets   []corev1.Secret
		want      []string
		wantPhase v1beta1.ImagePullPhase
		wantText  []string
	}{
		"the first is wrong, the second right": {[]string{"wrong", "right"}, []corev1.Secret{wrong, right}, []string{"wrong", "right"}, v1beta1.ImagePhaseSucceeded, nil},
		"the first is right":                   {[]string{"right", "wrong"}, []corev1.Secret{wrong, right}, []string{"right"}, v1beta1.ImagePhaseSucceeded, nil},
		"only wrong, and nothing without": {[]string{"wrong"}, []corev1.Secret{wrong}, []string{"wrong"}, v1beta1.ImagePhaseFailed,
			[]string{"the registry rejects the credentials: failed to resolve reference: unexpected status from HEAD request: 401 Unauthorized"}},
		"two wrong, both are told": {[]string{"wrong", "bad"}, []corev1.Secret{wrong, secret("bad", "example.com", "bad")}, []string{"wrong", "bad"},
			v1beta1.ImagePhaseFailed, []string{"all 2 credentials failed", "for wrong", "for bad"}},
		"none fits": {[]string{"other"}, []corev1.Secret{secret("other", "example.org", "right")}, []string{""}, v1beta1.ImagePhaseFailed,
			[]string{"the registry requires credentials, and no pull secret or credential provider plugin provides them"}},
		"none is named": {nil, []corev1.Secret{right}, []string{""}, v1beta1.ImagePhaseFailed, []string{"the registry requires credentials"}},
		"it is missing": {[]string{"right"}, nil, []string{""}, v1beta1.ImagePhaseFailed,
			[]string{"the registry requires credentials", "also: a pull secret does not exist or is not available to node agents; the log"}},
		"one is broken, the other serves": {[]string{"broken", "right"}, []corev1.Secret{
			{ObjectMeta: metav1.ObjectMeta{Namespace: "kruise-daemon-config", Name: "broken"}, Type: corev1.SecretTypeOpaque}, right,
		}, []string{"right"}, v1beta1.ImagePhaseSucceeded, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inWorld(t, withSecrets(test.names...), func(w *world) {
				w.secrets = test.secrets
				w.runtime.answers(guarded)
				w.start()
				var passwords []string
				for _, request := range w.runtime.requests {
					passwords = append(passwords, request.auth.GetPassword())
				}
				assert.Equal(t, test.want, passwords)
				report := w.report("example.com/app", "1")
				assert.Equal(t, test.wantPhase, report.Phase)
				for _, text := range test.wantText {
					assert.Contains(t, report.Message, text)
				}
			})
		})
	}
}

func TestUnreadableSecretsAreReported(t *testing.T) {
	inWorld(t, withSecrets("right"), func(w *world) {
		w.config.Secrets = func(context.Context) ([]corev1.Secret, error) {
			return nil, apierrors.NewForbidden(corev1.Resource("secrets"), "right", errors.New("no access"))
		}
		w.runtime.answers(guarded)
		w.start()
		assert.Contains(t, w.report("example.com/app", "1").Message,
			"also: failed to read the pull secrets; the log of the node agent")
	})
}

// TestOnlyAnAnswerIsARefusal lists how a read of the pull secrets can fail.
func TestOnlyAnAnswerIsARefusal(t *testing.T) {
	dial := func(err error) error {
		return &url.Error{Op: "Get", URL: "https://10.0.0.1/", Err: &net.OpError{Op: "dial", Net: "tcp", Err: err}}
	}
	secrets := corev1.Resource("secrets")
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"no route to the host":    {dial(os.NewSyscallError("connect", syscall.EHOSTUNREACH)), true},
		"no route to the network": {dial(os.NewSyscallError("connect", syscall.ENETUNREACH)), true},
		"no listener":             {dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)), true},
		"no name":                 {dial(&net.DNSError{Err: "no such host", Name: "kubernetes.default.svc", IsNotFound: true}), true},
		"no trust":                {&url.Error{Op: "Get", URL: "https://10.0.0.1/", Err: x509.UnknownAuthorityError{}}, true},
		"cut off":                 {io.ErrUnexpectedEOF, true},
		"no endpoints":            {apierrors.NewServiceUnavailable("no endpoints"), true},
		"bad gateway":             {apierrors.NewGenericServerResponse(http.StatusBadGateway, "get", secrets, "s", "", 0, true), true},
		"internal error":          {apierrors.NewInternalError(errors.New("etcd is on fire")), true},
		"timeout":                 {apierrors.NewTimeoutError("too slow", 1), true},
		"timeout of the server":   {apierrors.NewServerTimeout(secrets, "get", 1), true},
		"too many requests":       {fmt.Errorf("get: %w", apierrors.NewTooManyRequests("later", 1)), true},
		"forbidden":               {fmt.Errorf("get: %w", apierrors.NewForbidden(secrets, "s", errors.New("no access"))), false},
		"unauthorized":            {apierrors.NewUnauthorized("no token"), false},
		"not found":               {apierrors.NewNotFound(secrets, "s"), false},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, away(test.err), "%v", test.err)
		})
	}
}

// The runtime restarts, which takes longer than all pauses between attempts. No attempt is used up.
func TestRuntimeOutageUsesNoAttempts(t *testing.T) {
	const text = `connection error: desc = "transport: Error while dialing: dial unix /run/c.sock: connect: no such file or directory"`
	inWorld(t, wants("nginx", tag("1", tries(600, 0))), func(w *world) {
		w.runtime.answers(func(context.Context, request) (string, error) { return "", status.Error(codes.Unavailable, text) })
		w.start()
		agenttest.Pass(5 * time.Minute)
		report := w.report("nginx", "1")
		assert.Equal(t, v1beta1.ImagePhasePulling, report.Phase)
		assert.Contains(t, report.Message, "trying again in 5s: the container runtime of the node does not answer")
		w.runtime.answers(nil)
		agenttest.Pass(10 * time.Second)
		assert.Equal(t, v1beta1.ImagePhaseSucceeded, w.report("nginx", "1").Phase)
	})
}

// A registry that is not available is no outage of the runtime.
func TestCodeOfARegistryUsesAttempts(t *testing.T) {
	inWorld(t, wants("nginx", tag("1", tries(600, 0))), func(w *world) {
		w.runtime.answers(func(context.Context, request) (string, error) {
			return "", status.Error(codes.Unavailable, "try later")
		})
		w.start()
		agenttest.Pass(10 * time.Second)
		assert.Equal(t, v1beta1.ImagePhaseFailed, w.report("nginx", "1").Phase)
	})
}

// During an API outage no attempt is used up, and no image is pulled without credentials.
func TestAPIOutageUsesNoAttempts(t *testing.T) {
	inWorld(t, withSecrets("right"), func(w *world) {
		back := time.Now().Add(time.Minute)
		w.config.Secrets = func(context.Context) ([]corev1.Secret, error) {
			if time.Now().Before(back) {
				return nil, fmt.Errorf("get: %w", apierrors.NewServiceUnavailable("the server is currently unable to handle the request"))
			}
			return []corev1.Secret{secret("right", "example.com", "right")}, nil
		}
		w.runtime.answers(guarded)
		w.start()
		report := w.report("example.com/app", "1")
		assert.Equal(t, v1beta1.ImagePhasePulling, report.Phase)
		assert.Equal(t, "trying again in 5s: failed to read the pull secrets: the Kubernetes API cannot be reached; the log of the node agent on this node says more",
			report.Message)
		assert.Empty(t, w.runtime.asked())
		agenttest.Pass(2 * time.Minute)
		assert.Equal(t, v1beta1.ImagePhaseSucceeded, w.report("example.com/app", "1").Phase)
		assert.Len(t, w.runtime.asked(), 1)
	})
}

// A Secret that is created or changed between attempts is used by the next attempt.
func TestSecretsAreReadAgainAfterAFailure(t *testing.T) {
	ask := func(n *v1beta1.NodeImage) {
		withSecrets("s")(n)
		n.Spec.Images["example.com/app"].Tags[0].PullPolicy.BackoffLimit = ptr.To[int32](9)
	}
	inWorld(t, ask, func(w *world) {
		w.secrets = []corev1.Secret{secret("s", "example.com", "old")}
		w.runtime.answers(guarded)
		w.start()
		require.Equal(t, v1beta1.ImagePhasePulling, w.report("example.com/app", "1").Phase)
		w.holds(secret("s", "example.com", "right"))
		agenttest.Pass(time.Minute)
		assert.Equal(t, v1beta1.ImagePhaseSucceeded, w.report("example.com/app", "1").Phase)
	})
}

// A pull secret that is added to the NodeImage without a new version is used by the next attempt of a running pull.
func TestNextAttemptUsesChangesWithoutANewVersion(t *testing.T) {
	ask := func(n *v1beta1.NodeImage) {
		withSecrets()(n)
		n.Spec.Images["example.com/app"].Tags[0].PullPolicy.BackoffLimit = ptr.To[int32](9)
	}
	inWorld(t, ask, func(w *world) {
		w.secrets = []corev1.Secret{secret("s", "example.com", "right")}
		w.runtime.answers(guarded)
		w.start()
		w.change(func(n *v1beta1.NodeImage) {
			spec := n.Spec.Images["example.com/app"]
			spec.PullSecrets = []v1beta1.ReferenceObject{{Namespace: "kruise-daemon-config", Name: "s"}}
			n.Spec.Images["example.com/app"] = spec
		})
		agenttest.Pass(time.Minute)
		assert.Equal(t, v1beta1.ImagePhaseSucceeded, w.report("example.com/app", "1").Phase)
		assert.Less(t, len(w.runtime.asked()), 5)
	})
}

func TestSecretsAreKeptNoLongerThanPullsRun(t *testing.T) {
	inWorld(t, withSecrets("right"), func(w *world) {
		w.secrets = []corev1.Secret{secret("right", "example.com", "right")}
		w.runtime.answers(hang)
		w.config.MaxPulls = 1
		w.start()
		require.Equal(t, 1, w.reads)
		w.change(func(n *v1beta1.NodeImage) { n.Spec.Images["example.com/b"] = n.Spec.Images["example.com/app"] })
		assert.Equal(t, 1, w.reads, "one read serves all")
		w.change(func(n *v1beta1.NodeImage) { n.Spec.Images = nil })
		w.change(withSecrets("right"))
		assert.Equal(t, 2, w.reads)
	})
}

func TestImagePresentBeforeARetryIsNotPulled(t *testing.T) {
	inWorld(t, wants("nginx", tag("1")), func(w *world) {
		w.runtime.answers(refuse)
		w.start()
		w.runtime.has("sha256:here", "docker.io/library/nginx:1")
		agenttest.Pass(time.Minute)
		assert.Equal(t, "nginx@sha256:here", w.report("nginx", "1").ImageID)
		assert.LessOrEqual(t, len(w.runtime.asked()), 2)
	})
}

func TestLongMessagesAreCut(t *testing.T) {
	inWorld(t, wants("nginx", tag("1", tries(5, 0))), func(w *world) {
		w.runtime.pull = func(context.Context, request) (string, error) { return "", errors.New(strings.Repeat("x", 1<<16)) }
		w.start()
		assert.Len(t, w.report("nginx", "1").Message, 1<<10)
	})
}

// Case node-agent 22: a plugin's credentials are offered, and one that fails leaves the Secrets.
func TestPluginsAreAskedBesideSecrets(t *testing.T) {
	const config = "apiVersion: kubelet.config.k8s.io/v1\nkind: CredentialProviderConfig\nproviders:\n" +
		"- {name: p, matchImages: [example.com], defaultCacheDuration: 1m, apiVersion: credentialprovider.kubelet.k8s.io/v1}\n"
	const answer = `echo '{"kind":"CredentialProviderResponse","apiVersion":"credentialprovider.kubelet.k8s.io/v1","cacheKeyType":"Image",` +
		`"auth":{"example.com":{"username":"jane","password":"PASSWORD"}}}'`
	tests := map[string]struct {
		script    string
		secrets   []corev1.Secret
		want      []string
		wantPhase v1beta1.ImagePullPhase
		wantText  string
	}{
		"the plugin serves":           {strings.Replace(answer, "PASSWORD", "right", 1), nil, []string{"right"}, v1beta1.ImagePhaseSucceeded, ""},
		"it fails, the Secret serves": {"exit 1", []corev1.Secret{secret("s", "example.com", "right")}, []string{"right"}, v1beta1.ImagePhaseSucceeded, ""},
		"the Secret fails, it serves": {strings.Replace(answer, "PASSWORD", "right", 1), []corev1.Secret{secret("s", "example.com", "wrong")}, []string{"wrong", "right"}, v1beta1.ImagePhaseSucceeded, ""},
		"it fails, and no other is left": {"exit 1", nil, []string{""}, v1beta1.ImagePhaseFailed, "; also: a pull secret does not " +
			"exist or is not available to node agents; credential provider plugin p failed; the log of the node agent on this node says more"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "config"), []byte(config), 0o600))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "p"), []byte("#!/bin/sh\n"+test.script+"\n"), 0o700))
			plugins, err := credentials.LoadPlugins(filepath.Join(dir, "config"), dir, clock.RealClock{})
			require.NoError(t, err)
			inWorld(t, withSecrets("s"), func(w *world) {
				w.config.Plugins, w.secrets = plugins, test.secrets
				w.runtime.answers(guarded)
				w.start()
				var passwords []string
				for _, request := range w.runtime.requests {
					passwords = append(passwords, request.auth.GetPassword())
				}
				assert.Equal(t, test.want, passwords)
				report := w.report("example.com/app", "1")
				assert.Equal(t, test.wantPhase, report.Phase)
				assert.Contains(t, report.Message, test.wantText)
			})
		})
	}
}
