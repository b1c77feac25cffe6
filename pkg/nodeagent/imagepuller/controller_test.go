package imagepuller

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/nodeagent/agenttest"
)

const someDigest = "sha256:7d97e98f8af710c7e7fe703abc8f639e0ee507c4ad1c8c19d1c0a4e0f4b1d0d1"

func TestPullIsReportedWhenItStarts(t *testing.T) {
	inWorld(t, wants("nginx", tag("1.2", version(4))), func(w *world) {
		release := make(chan struct{})
		w.runtime.pull = func(ctx context.Context, r request) (string, error) {
			<-release
			return "sha256:abc", nil
		}
		w.start()
		report := w.report("nginx", "1.2")
		assert.Equal(t, v1beta1.ImagePhasePulling, report.Phase)
		assert.EqualValues(t, 4, report.Version)
		assert.Zero(t, report.Progress)
		assert.Nil(t, report.CompletionTime)
		require.NotNil(t, report.StartTime)
		assert.EqualValues(t, 1, w.get().Status.Pulling)
		assert.Equal(t, 1, w.writes())

		agenttest.Pass(time.Hour)
		assert.Equal(t, 1, w.writes(), "nothing changed, nothing is written")
		close(release)
		agenttest.Pass(time.Second)
		report = w.report("nginx", "1.2")
		assert.Equal(t, v1beta1.ImagePhaseSucceeded, report.Phase)
		assert.EqualValues(t, 100, report.Progress)
		assert.Equal(t, "nginx@sha256:abc", report.ImageID)
		assert.WithinDuration(t, time.Now(), report.CompletionTime.Time, 2*time.Second)
		assert.Equal(t, v1beta1.NodeImageStatus{
			Desired: 1, Succeeded: 1, ImageStatuses: map[string]v1beta1.ImageStatus{"nginx": {Tags: []v1beta1.ImageTagStatus{report}}},
		}, w.get().Status)
		assert.Equal(t, []string{"Normal PullImageSucceed Image nginx:1.2, ecalpsedTime 1h0m0.9s"}, w.told())
	})
}

// Case image-predownload 26.
func TestRestartedAgentPullsNothingAgain(t *testing.T) {
	inWorld(t, wants("nginx", tag("1.2", always)), func(w *world) {
		w.start()
		require.Equal(t, v1beta1.ImagePhaseSucceeded, w.report("nginx", "1.2").Phase)
		before := w.get()
		w.stop()
		w.start()
		agenttest.Pass(time.Hour)
		assert.Len(t, w.runtime.asked(), 1)
		assert.Equal(t, before.Status, w.get().Status)
	})
}

// Case image-predownload 27.
func TestNewVersionReplacesARunningPull(t *testing.T) {
	inWorld(t, wants("nginx", tag("1.2", version(1))), func(w *world) {
		var cancelled bool
		w.runtime.pull = func(ctx context.Context, r request) (string, error) {
			if len(w.runtime.asked()) > 1 {
				return "sha256:new", nil
			}
			<-ctx.Done()
			cancelled = true
			return "sha256:old", nil
		}
		w.start()
		require.Equal(t, v1beta1.ImagePhasePulling, w.report("nginx", "1.2").Phase)
		w.change(wants("nginx", tag("1.2", version(2))))
		assert.True(t, cancelled)
		report := w.report("nginx", "1.2")
		assert.Equal(t, v1beta1.ImagePhaseSucceeded, report.Phase)
		assert.EqualValues(t, 2, report.Version)
		assert.Equal(t, "nginx@sha256:new", report.ImageID)
		assert.Len(t, w.told(), 1, "the end of the first one is not reported")
	})
}

func TestUnneededPullIsCanceled(t *testing.T) {
	inWorld(t, wants("nginx", tag("1"), tag("2")), func(w *world) {
		w.runtime.answers(hang)
		w.start()
		require.Equal(t, 2, w.runtime.pulling())
		w.change(wants("nginx", tag("2")))
		assert.Equal(t, 1, w.runtime.pulling())
		assert.Empty(t, w.report("nginx", "1").Tag, "its report is dropped")
		assert.EqualValues(t, 1, w.get().Status.Desired)

		w.change(func(n *v1beta1.NodeImage) { n.Spec.Images = nil })
		assert.Zero(t, w.runtime.pulling())
		assert.Equal(t, v1beta1.NodeImageStatus{}, w.get().Status)
		assert.Empty(t, w.told())
	})
}

func TestRecreatedNodeImageStartsAgain(t *testing.T) {
	inWorld(t, wants("nginx", tag("1", always)), func(w *world) {
		w.start()
		images := w.client.AppsV1beta1().NodeImages()
		require.NoError(t, images.Delete(t.Context(), node, metav1.DeleteOptions{}))
		again := &v1beta1.NodeImage{ObjectMeta: metav1.ObjectMeta{Name: node, UID: "uid-2"}}
		wants("nginx", tag("1", always))(again)
		_, err := images.Create(t.Context(), again, metav1.CreateOptions{})
		require.NoError(t, err)
		agenttest.Pass(time.Second)
		assert.Len(t, w.runtime.asked(), 2)
		assert.Equal(t, v1beta1.ImagePhaseSucceeded, w.report("nginx", "1").Phase)

		w.runtime.answers(hang)
		w.change(wants("nginx", tag("1", always, version(1))))
		require.Equal(t, 1, w.runtime.pulling())
		require.NoError(t, images.Delete(t.Context(), node, metav1.DeleteOptions{}))
		agenttest.Pass(time.Second)
		assert.Zero(t, w.runtime.pulling())
	})
}

// The controllers declare a pull that takes too long failed. Then the agent also stops the pull.
func TestPullDeclaredFailedIsCanceled(t *testing.T) {
	inWorld(t, wants("nginx", tag("1")), func(w *world) {
		w.runtime.answers(hang)
		w.start()
		image := w.get()
		report := reportOf(image, "nginx", "1")
		report.Phase, report.CompletionTime, report.Message = v1beta1.ImagePhaseFailed, new(metav1.Now()), "somebody gave up"
		image.Status.Pulling, image.Status.Failed = 0, 1
		_, err := w.client.AppsV1beta1().NodeImages().UpdateStatus(t.Context(), image, metav1.UpdateOptions{})
		require.NoError(t, err)
		agenttest.Pass(time.Second)
		assert.Zero(t, w.runtime.pulling())
		assert.Equal(t, "somebody gave up", w.report("nginx", "1").Message)
	})
}

// Case image-predownload 33.
func TestDigestIsPulledByItsDigest(t *testing.T) {
	inWorld(t, wants("nginx", tag(someDigest)), func(w *world) {
		w.start()
		assert.Equal(t, []string{"docker.io/library/nginx@" + someDigest}, w.runtime.asked())
		assert.Equal(t, v1beta1.ImagePhaseSucceeded, w.report("nginx", someDigest).Phase)
	})
}

// Case image-predownload 35.
func TestRuntimeGetsTheSandboxConfig(t *testing.T) {
	ask := func(n *v1beta1.NodeImage) {
		n.Spec.Images = map[string]v1beta1.ImageSpec{
			"with": {Tags: []v1beta1.ImageTagSpec{tag("1")}, SandboxConfig: &v1beta1.SandboxConfig{
				Labels: map[string]string{"x": "y"}, Annotations: map[string]string{"a": "b"},
			}},
			"without": {Tags: []v1beta1.ImageTagSpec{tag("1")}},
		}
	}
	inWorld(t, ask, func(w *world) {
		w.start()
		require.Len(t, w.runtime.requests, 2)
		for _, request := range w.runtime.requests {
			require.NotNil(t, request.sandbox, request.image)
			assert.Equal(t, "kruise-daemon", request.sandbox.GetAnnotations()["apps.kruise.io/pulling-image-by"], request.image)
			if request.image == "with:1" {
				assert.Equal(t, map[string]string{"x": "y"}, request.sandbox.GetLabels())
				assert.Equal(t, "b", request.sandbox.GetAnnotations()["a"])
			}
		}
	})
}

// Case image-predownload 36.
func TestPresentImageIsPulledWithAlways(t *testing.T) {
	tests := map[string]struct {
		image  string
		tag    v1beta1.ImageTagSpec
		tags   []string
		digest []string
		want   int
	}{
		"IfNotPresent, present":              {"nginx", tag("1.2"), []string{"docker.io/library/nginx:1.2"}, nil, 0},
		"IfNotPresent, present by short tag": {"nginx", tag("1.2"), []string{"nginx:1.2"}, nil, 0},
		"IfNotPresent, absent":               {"nginx", tag("1.2"), []string{"docker.io/library/nginx:1.3"}, nil, 1},
		"IfNotPresent, of another registry":  {"nginx", tag("1.2"), []string{"example.com/nginx:1.2"}, nil, 1},
		"Always, present":                    {"nginx", tag("1.2", always), []string{"docker.io/library/nginx:1.2"}, nil, 1},
		"digest, present":                    {"nginx", tag(someDigest), nil, []string{"docker.io/library/nginx@" + someDigest}, 0},
		"digest, another one present":        {"nginx", tag(someDigest), nil, []string{"docker.io/library/nginx@sha256:00" + someDigest[9:]}, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inWorld(t, wants(test.image, test.tag), func(w *world) {
				w.runtime.images = []*runtimeapi.Image{{Id: "sha256:here", RepoTags: test.tags, RepoDigests: test.digest}}
				w.start()
				assert.Len(t, w.runtime.asked(), test.want)
				report := w.report(test.image, test.tag.Tag)
				assert.Equal(t, v1beta1.ImagePhaseSucceeded, report.Phase)
				assert.EqualValues(t, 100, report.Progress)
				assert.NotNil(t, report.StartTime)
				assert.NotNil(t, report.CompletionTime)
				if test.want == 0 {
					assert.Equal(t, "nginx@sha256:here", report.ImageID)
					assert.Equal(t, 1, w.writes(), "its end is all that there is to say")
				}
			})
		})
	}
}

// Case image-predownload 38.
func TestOnePullAtATime(t *testing.T) {
	inWorld(t, wants("nginx", tag("1"), tag("2"), tag("3")), func(w *world) {
		w.config.MaxPulls = 1
		w.runtime.answers(hang)
		w.start()
		status := w.get().Status
		assert.EqualValues(t, 1, status.Pulling)
		assert.EqualValues(t, 2, status.Waiting)
		assert.EqualValues(t, 3, status.Desired)
		waiting := 0
		for _, report := range status.ImageStatuses["nginx"].Tags {
			if report.Phase == v1beta1.ImagePhaseWaiting {
				waiting++
				assert.Nil(t, report.StartTime)
			}
		}
		assert.Equal(t, 2, waiting)

		w.runtime.answers(nil)
		w.change(wants("nginx", tag("1", version(1)), tag("2", version(1)), tag("3", version(1))))
		agenttest.Pass(time.Minute)
		assert.EqualValues(t, 3, w.get().Status.Succeeded)
		assert.Equal(t, 1, w.runtime.most)
	})
}

// A tag whose image is present does not wait for a slot.
func TestPresentImagesNeedNoTurn(t *testing.T) {
	inWorld(t, wants("nginx", tag("1")), func(w *world) {
		w.config.MaxPulls = 1
		w.runtime.answers(hang)
		w.start()
		w.runtime.has("sha256:here", "docker.io/library/redis:1")
		w.change(wants("redis", tag("1")))
		assert.Equal(t, v1beta1.ImagePhaseSucceeded, w.report("redis", "1").Phase)
		assert.Equal(t, v1beta1.ImagePhasePulling, w.report("nginx", "1").Phase)
	})
}

// Case node-agent 24: two at once, five tags.
func TestNeverMorePullsThanWorkers(t *testing.T) {
	inWorld(t, wants("nginx", tag("1"), tag("2"), tag("3"), tag("4"), tag("5")), func(w *world) {
		w.config.MaxPulls = 2
		w.runtime.pull = func(context.Context, request) (string, error) {
			<-time.After(time.Second)
			return "sha256:abc", nil
		}
		w.start()
		agenttest.Pass(time.Minute)
		assert.Equal(t, 2, w.runtime.most)
		assert.EqualValues(t, 5, w.get().Status.Succeeded)
	})
}

// Case node-agent 8: it asks for its own NodeImage alone.
func TestOtherNodesAreNotWatched(t *testing.T) {
	inWorld(t, wants("nginx", tag("1")), func(w *world) {
		w.start()
		watched := false
		for _, action := range w.client.Actions() {
			switch a := action.(type) {
			case clienttesting.ListAction:
				assert.Equal(t, "metadata.name="+node, a.GetListRestrictions().Fields.String())
			case clienttesting.WatchAction:
				watched = true
				assert.Equal(t, "metadata.name="+node, a.GetWatchRestrictions().Fields.String())
			}
		}
		assert.True(t, watched)
		other := &v1beta1.NodeImage{ObjectMeta: metav1.ObjectMeta{Name: "node-2", UID: "uid-2"}}
		wants("redis", tag("1"))(other)
		_, err := w.client.AppsV1beta1().NodeImages().Create(t.Context(), other, metav1.CreateOptions{})
		require.NoError(t, err)
		agenttest.Pass(time.Minute)
		assert.Equal(t, []string{"docker.io/library/nginx:1"}, w.runtime.asked())
	})
}

// Case node-agent 23: stopped in the middle of a pull, it says nothing and begins it again.
func TestStoppedPullBeginsAgain(t *testing.T) {
	inWorld(t, wants("nginx", tag("1", version(3))), func(w *world) {
		w.runtime.answers(hang)
		w.start()
		before := w.report("nginx", "1")
		require.Equal(t, v1beta1.ImagePhasePulling, before.Phase)
		w.stop()
		assert.Equal(t, before, w.report("nginx", "1"), "that it was stopped is no failure")
		assert.Empty(t, w.told())

		w.runtime.answers(nil)
		agenttest.Pass(time.Minute)
		w.start()
		after := w.report("nginx", "1")
		assert.Equal(t, v1beta1.ImagePhaseSucceeded, after.Phase)
		assert.EqualValues(t, 3, after.Version)
		assert.Equal(t, before.StartTime, after.StartTime, "the first start counts")
		assert.Len(t, w.runtime.asked(), 2)
	})
}

func TestStatusWritesAreRare(t *testing.T) {
	var tags []v1beta1.ImageTagSpec
	for i := range 100 {
		tags = append(tags, tag(fmt.Sprintf("v%03d", i)))
	}
	inWorld(t, wants("nginx", tags...), func(w *world) {
		w.config.MaxPulls = 1
		w.runtime.pull = func(context.Context, request) (string, error) {
			<-time.After(500 * time.Millisecond)
			return "sha256:abc", nil
		}
		w.start()
		agenttest.Pass(time.Minute)
		assert.EqualValues(t, 100, w.get().Status.Succeeded)
		assert.LessOrEqual(t, w.writes(), 5+30, "the first five, then one in two seconds")
	})
}

func TestFailedStatusWriteIsRetried(t *testing.T) {
	inWorld(t, wants("nginx", tag("1")), func(w *world) {
		failures := 3
		w.client.PrependReactor("update", "nodeimages", func(clienttesting.Action) (bool, apiruntime.Object, error) {
			failures--
			return failures >= 0, nil, errors.New("connection refused")
		})
		w.start()
		assert.Empty(t, w.get().Status.ImageStatuses)
		agenttest.Pass(time.Minute)
		assert.Equal(t, v1beta1.ImagePhaseSucceeded, w.report("nginx", "1").Phase)
		assert.Len(t, w.runtime.asked(), 1)
	})
}

// A store that was restored has older versions than the last write of the agent, and has lost that write.
func TestNodeImageOfARestoredStoreIsBelieved(t *testing.T) {
	inWorld(t, wants("nginx", tag("1")), func(w *world) {
		restored := w.get()
		restored.ResourceVersion = "5"
		lost := true
		w.client.PrependReactor("update", "nodeimages", func(action clienttesting.Action) (bool, apiruntime.Object, error) {
			if action.GetSubresource() != "status" || !lost {
				return false, nil, nil
			}
			written := action.(clienttesting.UpdateAction).GetObject().(*v1beta1.NodeImage).DeepCopy()
			written.ResourceVersion = "1000"
			return true, written, nil
		})
		w.start()
		lost = false
		wants("nginx", tag("2"))(restored)
		_, err := w.client.AppsV1beta1().NodeImages().Update(t.Context(), restored, metav1.UpdateOptions{})
		require.NoError(t, err)
		agenttest.Pass(20 * time.Second)
		assert.Equal(t, []string{"docker.io/library/nginx:1"}, w.runtime.asked(), "the cache may only be late")
		agenttest.Pass(12 * time.Second)
		assert.Equal(t, []string{"docker.io/library/nginx:1", "docker.io/library/nginx:2"}, w.runtime.asked())
		assert.Equal(t, v1beta1.ImagePhaseSucceeded, w.report("nginx", "2").Phase)
	})
}

func TestOwnersGetAFailureEvent(t *testing.T) {
	owned := tag("1", tries(5, 0), func(t *v1beta1.ImageTagSpec) {
		t.OwnerReferences = []corev1.ObjectReference{{APIVersion: "apps.kruise.io/v1beta1", Kind: "ImagePullJob", Namespace: "default", Name: "job"}}
	})
	inWorld(t, wants("nginx", owned), func(w *world) {
		w.runtime.answers(refuse)
		w.start()
		want := "Warning PullImageFailed Image nginx:1 the registry cannot be reached: dial tcp 10.0.0.1:443: connect: connection refused"
		assert.Equal(t, []string{want, want}, w.told(), "one on the job, one on the NodeImage")
	})
}

func TestFinishedPullsLeaveNoState(t *testing.T) {
	var tags []v1beta1.ImageTagSpec
	for i := range 256 {
		tags = append(tags, tag(fmt.Sprintf("v%03d", i)))
	}
	inWorld(t, wants("nginx", tags...), func(w *world) {
		w.start()
		agenttest.Pass(time.Minute)
		require.EqualValues(t, 256, w.get().Status.Succeeded)
		assert.Empty(t, w.controller.pulls)
		assert.Nil(t, w.controller.secrets.known)
	})
}
