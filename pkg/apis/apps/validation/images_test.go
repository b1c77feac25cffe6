package validation_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/validation"
	"kruise.io/kruise/pkg/apis/rules/rulestest"
)

func validTemplate() apps.ImagePullJobTemplate {
	return apps.ImagePullJobTemplate{
		PullPolicy:       &apps.PullPolicy{TimeoutSeconds: ptr.To[int32](600), BackoffLimit: ptr.To[int32](3)},
		CompletionPolicy: apps.CompletionPolicy{Type: apps.CompletionPolicyAlways},
		ImagePullPolicy:  apps.PullIfNotPresent,
	}
}

func pullJob(apply func(*apps.ImagePullJobSpec)) *apps.ImagePullJob {
	job := &apps.ImagePullJob{
		ObjectMeta: metav1.ObjectMeta{Name: "pull", Namespace: "default", ResourceVersion: "1"},
		Spec:       apps.ImagePullJobSpec{Image: "nginx:1.9.1", ImagePullJobTemplate: validTemplate()},
	}
	if apply != nil {
		apply(&job.Spec)
	}
	return job
}

func listJob(apply func(*apps.ImageListPullJobSpec)) *apps.ImageListPullJob {
	job := &apps.ImageListPullJob{
		ObjectMeta: metav1.ObjectMeta{Name: "pull", Namespace: "default", ResourceVersion: "1"},
		Spec:       apps.ImageListPullJobSpec{Images: []string{"nginx:1.9.1", "busybox"}, ImagePullJobTemplate: validTemplate()},
	}
	if apply != nil {
		apply(&job.Spec)
	}
	return job
}

func byName(names ...string) *apps.ImagePullJobNodeSelector {
	return &apps.ImagePullJobNodeSelector{Names: names}
}

func byLabel(value string) metav1.LabelSelector {
	return metav1.LabelSelector{MatchLabels: map[string]string{"a": value}}
}

// pullCases are the rules that ImagePullJobs and ImageListPullJobs share.
var pullCases = map[string]struct {
	change func(*apps.ImagePullJobTemplate)
	want   []string
}{
	"valid":           {func(*apps.ImagePullJobTemplate) {}, nil},
	"nothing set":     {func(t *apps.ImagePullJobTemplate) { t.PullPolicy, t.ImagePullPolicy = nil, "" }, nil},
	"selector empty":  {func(t *apps.ImagePullJobTemplate) { t.Selector = byName() }, nil},
	"names":           {func(t *apps.ImagePullJobTemplate) { t.Selector = byName("n1", "missing") }, nil},
	"labels":          {func(t *apps.ImagePullJobTemplate) { t.Selector = byName(); t.Selector.LabelSelector = byLabel("b") }, nil},
	"pull secrets":    {func(t *apps.ImagePullJobTemplate) { t.PullSecrets = []string{"a", "b"} }, nil},
	"pull secret ''":  {func(t *apps.ImagePullJobTemplate) { t.PullSecrets = []string{"a", ""} }, []string{"spec.pullSecrets[1]: Required"}},
	"32 pull secrets": {func(t *apps.ImagePullJobTemplate) { t.PullSecrets = slices.Repeat([]string{"a"}, 32) }, nil},
	"33 pull secrets": {
		func(t *apps.ImagePullJobTemplate) { t.PullSecrets = slices.Repeat([]string{"a"}, 33) },
		[]string{"spec.pullSecrets: Too many: 33: must have at most 32 items"},
	},
	"sandboxConfig of 16 KiB": {func(t *apps.ImagePullJobTemplate) {
		t.SandboxConfig = &apps.SandboxConfig{Annotations: map[string]string{"a": strings.Repeat("x", 16<<10-5)}}
	}, nil},
	"sandboxConfig too large": {func(t *apps.ImagePullJobTemplate) {
		t.SandboxConfig = &apps.SandboxConfig{
			Labels: map[string]string{"l": strings.Repeat("x", 8<<10)}, Annotations: map[string]string{"a": strings.Repeat("x", 8<<10)},
		}
	}, []string{"spec.sandboxConfig: Too many: 16394: must have at most 16384 bytes; keep only the labels and annotations"}},
	"sandboxConfig": {func(t *apps.ImagePullJobTemplate) {
		t.SandboxConfig = &apps.SandboxConfig{Labels: map[string]string{"": "?"}}
	}, nil},
	"names and labels": {func(t *apps.ImagePullJobTemplate) { t.Selector = byName("n1"); t.Selector.LabelSelector = byLabel("b") }, []string{"spec.selector: can not set both names and labelSelector in this spec.selector"}},
	"names and an expression": {func(t *apps.ImagePullJobTemplate) {
		t.Selector = byName("n1")
		t.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "a", Operator: metav1.LabelSelectorOpExists}}
	}, []string{"spec.selector: can not set both names and labelSelector in this spec.selector"}},
	"selector invalid": {
		func(t *apps.ImagePullJobTemplate) {
			t.Selector = byName()
			t.Selector.LabelSelector = byLabel("not valid")
		},
		[]string{"spec.selector.matchLabels: invalid selector: "},
	},
	"name twice": {func(t *apps.ImagePullJobTemplate) { t.Selector = byName("a", "b", "a") }, []string{"spec.selector.names[2]: duplicated name in selector names"}},
	"name empty": {func(t *apps.ImagePullJobTemplate) { t.Selector = byName("") }, []string{"spec.selector.names[0]: Required"}},
	"podSelector": {func(t *apps.ImagePullJobTemplate) {
		t.PodSelector = &apps.ImagePullJobPodSelector{LabelSelector: byLabel("b")}
	}, nil},
	"podSelector invalid": {
		func(t *apps.ImagePullJobTemplate) {
			t.PodSelector = &apps.ImagePullJobPodSelector{LabelSelector: byLabel("not valid")}
		}, []string{"spec.podSelector.matchLabels: invalid podSelector: "},
	},
	"selector and podSelector": {
		func(t *apps.ImagePullJobTemplate) {
			t.Selector, t.PodSelector = byName("n1"), &apps.ImagePullJobPodSelector{LabelSelector: byLabel("b")}
		}, []string{"spec.selector: can not set both selector and podSelector"},
	},
	"parallelism 0":        {func(t *apps.ImagePullJobTemplate) { t.Parallelism = number(0) }, nil},
	"parallelism as text":  {func(t *apps.ImagePullJobTemplate) { t.Parallelism = text("5") }, nil},
	"parallelism 50%":      {func(t *apps.ImagePullJobTemplate) { t.Parallelism = text("50%") }, []string{`spec.parallelism: "50%": parallelism does not support percentage value`}},
	"parallelism abc":      {func(t *apps.ImagePullJobTemplate) { t.Parallelism = text("abc") }, []string{`spec.parallelism: "abc": parallelism must be a valid integer`}},
	"parallelism too much": {func(t *apps.ImagePullJobTemplate) { t.Parallelism = text("99999999999") }, []string{`spec.parallelism: "99999999999": parallelism must be a valid integer`}},
	"parallelism -1":       {func(t *apps.ImagePullJobTemplate) { t.Parallelism = number(-1) }, []string{`spec.parallelism: "-1": parallelism must be non-negative`}},
	"parallelism '-1'":     {func(t *apps.ImagePullJobTemplate) { t.Parallelism = text("-1") }, []string{`spec.parallelism: "-1": parallelism must be non-negative`}},
	"timeout negative":     {func(t *apps.ImagePullJobTemplate) { t.PullPolicy.TimeoutSeconds = ptr.To[int32](-1) }, []string{"spec.pullPolicy.timeoutSeconds: -1"}},
	"backoff negative":     {func(t *apps.ImagePullJobTemplate) { t.PullPolicy.BackoffLimit = ptr.To[int32](-1) }, nil},
	"ttl 0":                {func(t *apps.ImagePullJobTemplate) { t.CompletionPolicy.TTLSecondsAfterFinished = ptr.To[int32](0) }, nil},
	"ttl negative":         {func(t *apps.ImagePullJobTemplate) { t.CompletionPolicy.TTLSecondsAfterFinished = ptr.To[int32](-1) }, []string{"spec.completionPolicy.ttlSecondsAfterFinished: -1"}},
	"Never":                {func(t *apps.ImagePullJobTemplate) { t.CompletionPolicy.Type = apps.CompletionPolicyNever }, nil},
	"Never with a ttl": {
		func(t *apps.ImagePullJobTemplate) {
			t.CompletionPolicy = apps.CompletionPolicy{Type: apps.CompletionPolicyNever, TTLSecondsAfterFinished: ptr.To[int32](5)}
		}, []string{"spec.completionPolicy.ttlSecondsAfterFinished: activeDeadlineSeconds and ttlSecondsAfterFinished can only work with Always CompletionPolicyType"},
	},
	"Never with a deadline": {
		func(t *apps.ImagePullJobTemplate) {
			t.CompletionPolicy = apps.CompletionPolicy{Type: apps.CompletionPolicyNever, ActiveDeadlineSeconds: ptr.To[int64](5000)}
		}, []string{"spec.completionPolicy.activeDeadlineSeconds: activeDeadlineSeconds and ttlSecondsAfterFinished can only work with Always CompletionPolicyType"},
	},
	"Never with a deadline before the timeout": {
		func(t *apps.ImagePullJobTemplate) {
			t.CompletionPolicy = apps.CompletionPolicy{Type: apps.CompletionPolicyNever, ActiveDeadlineSeconds: ptr.To[int64](5)}
		}, []string{"spec.completionPolicy.activeDeadlineSeconds: activeDeadlineSeconds and ttlSecondsAfterFinished can only work with Always CompletionPolicyType"},
	},
	"type":                 {func(t *apps.ImagePullJobTemplate) { t.CompletionPolicy.Type = "Maybe" }, []string{`spec.completionPolicy.type: "Maybe": unknown type of completionPolicy`}},
	"pull policy Always":   {func(t *apps.ImagePullJobTemplate) { t.ImagePullPolicy = apps.PullAlways }, nil},
	"pull policy Never":    {func(t *apps.ImagePullJobTemplate) { t.ImagePullPolicy = "Never" }, []string{`spec.imagePullPolicy: "Never": supported values: "Always", "IfNotPresent"`}},
	"deadline and timeout": {func(t *apps.ImagePullJobTemplate) { t.CompletionPolicy.ActiveDeadlineSeconds = ptr.To[int64](600) }, nil},
}

// Cases image-predownload 14, 20.
func TestImagePullJobAndList(t *testing.T) {
	for name, test := range pullCases {
		t.Run(name, func(t *testing.T) {
			job, list := pullJob(nil), listJob(nil)
			test.change(&job.Spec.ImagePullJobTemplate)
			test.change(&list.Spec.ImagePullJobTemplate)
			rulestest.Errors(t, test.want, validation.ValidateImagePullJob(job))
			rulestest.Errors(t, test.want, validation.ValidateImageListPullJob(list))
			oldJob, oldList := pullJob(nil), listJob(nil)
			oldJob.Spec.PullSecrets = job.Spec.PullSecrets
			if len(job.Spec.PullSecrets) == 0 {
				rulestest.Errors(t, test.want, validation.ValidateImagePullJobUpdate(job, oldJob))
			}
			rulestest.Errors(t, test.want, validation.ValidateImageListPullJobUpdate(list, oldList))
			rulestest.Errors(t, nil, validation.ValidateImagePullJobUpdate(job, job.DeepCopy()))
			rulestest.Errors(t, nil, validation.ValidateImageListPullJobUpdate(list, list.DeepCopy()))
		})
	}
}

// Cases image-predownload 14, 19.
func TestImagePullJob(t *testing.T) {
	deadline := func(seconds int64, timeout *int32) func(*apps.ImagePullJobSpec) {
		return func(s *apps.ImagePullJobSpec) {
			s.CompletionPolicy.ActiveDeadlineSeconds, s.PullPolicy.TimeoutSeconds = &seconds, timeout
		}
	}
	const tooShort = "spec.completionPolicy.activeDeadlineSeconds: must be greater than pullPolicy.timeoutSeconds(default 600)"
	for name, test := range map[string]struct {
		change func(*apps.ImagePullJobSpec)
		want   []string
	}{
		"digest":          {func(s *apps.ImagePullJobSpec) { s.Image = "nginx@sha256:" + hex64 }, nil},
		"tag and digest":  {func(s *apps.ImagePullJobSpec) { s.Image = "reg:5000/a/b:1.2@sha256:" + hex64 }, nil},
		"no tag":          {func(s *apps.ImagePullJobSpec) { s.Image = "example.com/library/nginx" }, nil},
		"image empty":     {func(s *apps.ImagePullJobSpec) { s.Image = "" }, []string{"spec.image: image can not be empty"}},
		"image a b":       {func(s *apps.ImagePullJobSpec) { s.Image = "a b" }, []string{`spec.image: "a b": invalid image`}},
		"upper case":      {func(s *apps.ImagePullJobSpec) { s.Image = "Nginx" }, []string{`spec.image: "Nginx": invalid image`}},
		"short digest":    {func(s *apps.ImagePullJobSpec) { s.Image = "nginx@sha256:abc" }, []string{"spec.image: invalid image"}},
		"default":         {deadline(60, nil), []string{tooShort}},
		"longer":          {deadline(60, ptr.To[int32](61)), []string{tooShort}},
		"equal":           {deadline(60, ptr.To[int32](60)), nil},
		"shorter":         {deadline(60, ptr.To[int32](50)), nil},
		"without a block": {func(s *apps.ImagePullJobSpec) { deadline(60, nil)(s); s.PullPolicy = nil }, []string{tooShort}},
		"deadline 0": {
			deadline(0, ptr.To[int32](0)), []string{"spec.completionPolicy.activeDeadlineSeconds: must be greater than 0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			job := pullJob(test.change)
			rulestest.Errors(t, test.want, validation.ValidateImagePullJob(job))
			rulestest.Errors(t, test.want, validation.ValidateImagePullJobUpdate(job, pullJob(nil)))
			rulestest.Errors(t, nil, validation.ValidateImagePullJobUpdate(job, pullJob(test.change)))
		})
	}
}

const hex64 = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestImagePullJobKeepsItsSecrets(t *testing.T) {
	old := pullJob(func(s *apps.ImagePullJobSpec) { s.PullSecrets = []string{"a"} })
	for name, secrets := range map[string][]string{"other": {"b"}, "more": {"a", "b"}, "none": nil} {
		t.Run(name, func(t *testing.T) {
			job := pullJob(func(s *apps.ImagePullJobSpec) { s.PullSecrets = secrets })
			rulestest.Errors(t, []string{"spec.pullSecrets: spec.pullSecrets is immutable"}, validation.ValidateImagePullJobUpdate(job, old))
		})
	}
	other := pullJob(func(s *apps.ImagePullJobSpec) {
		s.PullSecrets, s.Image, s.Parallelism, s.Selector = []string{"a"}, "busybox", number(7), byName("n")
	})
	rulestest.Errors(t, nil, validation.ValidateImagePullJobUpdate(other, old))
}

// Cases image-predownload 41a, 42.
func TestImageListPullJob(t *testing.T) {
	many := func(n int) []string {
		var images []string
		for i := range n {
			images = append(images, fmt.Sprintf("image-%d", i))
		}
		return images
	}
	for name, test := range map[string]struct {
		images []string
		want   []string
	}{
		"one":                    {[]string{"a"}, nil},
		"255":                    {many(255), nil},
		"256":                    {many(256), []string{"spec.images: the maximum number of images cannot > 255"}},
		"none":                   {nil, []string{"spec.images: image can not be empty"}},
		"one is empty":           {[]string{"a", ""}, []string{"spec.images[1]: image can not be empty"}},
		"one is invalid":         {[]string{"a", "a b"}, []string{`spec.images[1]: "a b": invalid image`}},
		"one twice":              {[]string{"a", "b", "a"}, []string{"spec.images[2]: images cannot have duplicate values"}},
		"two names of one image": {[]string{"busybox", "docker.io/library/busybox:latest"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			set := func(s *apps.ImageListPullJobSpec) { s.Images = test.images }
			rulestest.Errors(t, test.want, validation.ValidateImageListPullJob(listJob(set)))
			rulestest.Errors(t, test.want, validation.ValidateImageListPullJobUpdate(listJob(set), listJob(nil)))
			rulestest.Errors(t, nil, validation.ValidateImageListPullJobUpdate(listJob(set), listJob(set)))
		})
	}
	t.Run("a deadline may be shorter than the timeout, and secrets may change", func(t *testing.T) {
		list := listJob(func(s *apps.ImageListPullJobSpec) {
			s.CompletionPolicy.ActiveDeadlineSeconds, s.PullSecrets = ptr.To[int64](60), []string{"a"}
		})
		rulestest.Errors(t, nil, validation.ValidateImageListPullJob(list))
		rulestest.Errors(t, nil, validation.ValidateImageListPullJobUpdate(list, listJob(nil)))
	})
}

func nodeImage(apply func(*apps.NodeImageSpec)) *apps.NodeImage {
	image := &apps.NodeImage{
		ObjectMeta: metav1.ObjectMeta{Name: "node-1", ResourceVersion: "1"},
		Spec:       apps.NodeImageSpec{Images: map[string]apps.ImageSpec{"nginx": {Tags: []apps.ImageTagSpec{tag("1.9.1", nil)}}}},
	}
	if apply != nil {
		apply(&image.Spec)
	}
	return image
}

func tag(name string, apply func(*apps.ImageTagSpec)) apps.ImageTagSpec {
	spec := apps.ImageTagSpec{
		Tag: name, CreatedAt: new(metav1.Now()),
		PullPolicy: &apps.ImageTagPullPolicy{TTLSecondsAfterFinished: ptr.To[int32](5)},
	}
	if apply != nil {
		apply(&spec)
	}
	return spec
}

// Cases image-predownload 6, 7.
func TestNodeImage(t *testing.T) {
	one := func(apply func(*apps.ImageTagSpec)) func(*apps.NodeImageSpec) {
		return func(s *apps.NodeImageSpec) {
			s.Images = map[string]apps.ImageSpec{"nginx": {Tags: []apps.ImageTagSpec{tag("1", apply)}}}
		}
	}
	many := func(n int) func(*apps.NodeImageSpec) {
		return func(s *apps.NodeImageSpec) {
			for i := range n {
				s.Images[fmt.Sprint("image-", i)] = apps.ImageSpec{}
			}
			delete(s.Images, "nginx")
		}
	}
	const first = "spec.images[nginx].tags[0]."
	for name, test := range map[string]struct {
		change func(*apps.NodeImageSpec)
		want   []string
	}{
		"nothing":    {func(s *apps.NodeImageSpec) { s.Images = nil }, nil},
		"valid":      {nil, nil},
		"256 images": {many(256), nil},
		"257 images": {many(257), []string{"spec.images: must have at most 256 items"}},
		"no name": {
			func(s *apps.NodeImageSpec) { s.Images[""] = apps.ImageSpec{} }, []string{"spec.images: image name cannot be empty"},
		},
		"digest": {one(func(t *apps.ImageTagSpec) { t.Tag = "sha256:" + hex64 }), nil},
		"no tag": {one(func(t *apps.ImageTagSpec) { t.Tag = "" }), []string{first + "tag: Required"}},
		"tag twice": {func(s *apps.NodeImageSpec) {
			s.Images["nginx"] = apps.ImageSpec{Tags: []apps.ImageTagSpec{tag("a", nil), tag("a", nil)}}
		}, []string{`spec.images[nginx].tags[1].tag: Duplicate value: "a"`}},
		"tag in two images": {
			func(s *apps.NodeImageSpec) {
				s.Images["other"] = apps.ImageSpec{Tags: []apps.ImageTagSpec{tag("1.9.1", nil)}}
			}, nil,
		},
		"no createdAt":      {one(func(t *apps.ImageTagSpec) { t.CreatedAt = nil }), []string{first + "createdAt: Required"}},
		"version -1":        {one(func(t *apps.ImageTagSpec) { t.Version = -1 }), []string{first + "version: -1"}},
		"no pullPolicy":     {one(func(t *apps.ImageTagSpec) { t.PullPolicy = nil }), []string{first + "pullPolicy: Required"}},
		"no ttl":            {one(func(t *apps.ImageTagSpec) { t.PullPolicy.TTLSecondsAfterFinished = nil }), []string{first + "pullPolicy.ttlSecondsAfterFinished: Required"}},
		"timeout negative":  {one(func(t *apps.ImageTagSpec) { t.PullPolicy.TimeoutSeconds = ptr.To[int32](-1) }), []string{first + "pullPolicy.timeoutSeconds: -1"}},
		"backoff negative":  {one(func(t *apps.ImageTagSpec) { t.PullPolicy.BackoffLimit = ptr.To[int32](-1) }), nil},
		"pull policy":       {one(func(t *apps.ImageTagSpec) { t.ImagePullPolicy = apps.PullAlways }), nil},
		"pull policy Never": {one(func(t *apps.ImageTagSpec) { t.ImagePullPolicy = "Never" }), []string{first + `imagePullPolicy: "Never"`}},
	} {
		t.Run(name, func(t *testing.T) {
			rulestest.Errors(t, test.want, validation.ValidateNodeImage(nodeImage(test.change)))
			rulestest.Errors(t, test.want, validation.ValidateNodeImageUpdate(nodeImage(test.change), nodeImage(nil)))
			stored := nodeImage(test.change)
			rulestest.Errors(t, nil, validation.ValidateNodeImageUpdate(stored.DeepCopy(), stored))
		})
	}
}

func TestNamesOfImageKinds(t *testing.T) {
	image, job, list := nodeImage(nil), pullJob(nil), listJob(nil)
	image.Name, job.Name, list.Name = "Not_DNS", "Not_DNS", "Not_DNS"
	want := []string{`metadata.name: Invalid value: "Not_DNS"`}
	rulestest.Errors(t, want, validation.ValidateNodeImage(image))
	rulestest.Errors(t, want, validation.ValidateImagePullJob(job))
	rulestest.Errors(t, want, validation.ValidateImageListPullJob(list))
	image = nodeImage(nil)
	image.Namespace = "default"
	rulestest.Errors(t, []string{"metadata.namespace: Forbidden"}, validation.ValidateNodeImage(image))
}

// now is the time of kube-apiserver. It is not the time of the machine that runs the tests.
var now = time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)

func TestStatusesOfImageKinds(t *testing.T) {
	image, job, list := nodeImage(nil), pullJob(nil), listJob(nil)
	require.Empty(t, validation.ValidateNodeImageStatusUpdate(image, image, now))
	require.Empty(t, validation.ValidateImagePullJobStatusUpdate(job, job))
	require.Empty(t, validation.ValidateImageListPullJobStatusUpdate(list, list))

	image.Status = apps.NodeImageStatus{Desired: -1, Succeeded: -1, Failed: -1, Pulling: -1, Waiting: -1}
	rulestest.Errors(t, []string{"status.desired: -1", "status.succeeded: -1", "status.failed: -1", "status.pulling: -1", "status.waiting: -1"},
		validation.ValidateNodeImageStatusUpdate(image, nodeImage(nil), now))
	job.Status = apps.ImagePullJobStatus{Desired: -1, Active: -1, Succeeded: -1, Failed: -1}
	rulestest.Errors(t, []string{"status.desired: -1", "status.active: -1", "status.succeeded: -1", "status.failed: -1"},
		validation.ValidateImagePullJobStatusUpdate(job, pullJob(nil)))
	list.Status = apps.ImageListPullJobStatus{Desired: -1, Active: -1, Completed: -1, Succeeded: -1}
	rulestest.Errors(t, []string{"status.desired: -1", "status.active: -1", "status.completed: -1", "status.succeeded: -1"},
		validation.ValidateImageListPullJobStatusUpdate(list, listJob(nil)))
}

// A node agent may be broken, and its token may be stolen. Its report must not mislead the controllers of other nodes' pulls.
func TestReportsOfNodesAreChecked(t *testing.T) {
	const wanted = 3
	stored := func(reports ...apps.ImageTagStatus) *apps.NodeImage {
		image := nodeImage(func(spec *apps.NodeImageSpec) {
			spec.Images = map[string]apps.ImageSpec{"nginx": {Tags: []apps.ImageTagSpec{tag("1", func(t *apps.ImageTagSpec) { t.Version = wanted })}}}
		})
		image.Status.ImageStatuses = map[string]apps.ImageStatus{"nginx": {Tags: reports}}
		return image
	}
	at := func(d time.Duration) *metav1.Time { return new(metav1.NewTime(now.Add(d))) }
	year9999 := new(metav1.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC))
	largest := apps.ImageTagStatus{Tag: "1", Version: math.MaxInt64}
	tests := map[string]struct {
		before, after apps.ImageTagStatus
		want          string
	}{
		"this version":             {after: apps.ImageTagStatus{Tag: "1", Version: wanted, StartTime: at(0), CompletionTime: at(0)}},
		"an older version":         {after: apps.ImageTagStatus{Tag: "1", Version: wanted - 1}},
		"a later version":          {after: apps.ImageTagStatus{Tag: "1", Version: wanted + 1}, want: "status.imageStatuses[nginx].tags[0].version"},
		"the largest version":      {after: largest, want: "status.imageStatuses[nginx].tags[0].version"},
		"of an older release":      {before: largest, after: largest},
		"another tag":              {after: apps.ImageTagStatus{Tag: "2"}, want: "status.imageStatuses[nginx].tags[0].tag"},
		"a removed tag":            {before: apps.ImageTagStatus{Tag: "2"}, after: apps.ImageTagStatus{Tag: "2"}},
		"a clock that is ahead":    {after: apps.ImageTagStatus{Tag: "1", Version: wanted, StartTime: at(50 * time.Minute)}},
		"a start in the future":    {after: apps.ImageTagStatus{Tag: "1", Version: wanted, StartTime: year9999}, want: "status.imageStatuses[nginx].tags[0].startTime"},
		"an end in the far future": {after: apps.ImageTagStatus{Tag: "1", Version: wanted, CompletionTime: at(2 * time.Hour)}, want: "status.imageStatuses[nginx].tags[0].completionTime"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			errs := validation.ValidateNodeImageStatusUpdate(stored(tc.after), stored(tc.before), now)
			if tc.want == "" {
				require.Empty(t, errs)
				return
			}
			require.Len(t, errs, 1)
			require.Equal(t, tc.want, errs[0].Field)
		})
	}
}
