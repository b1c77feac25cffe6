package validation_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/validation"
	"kruise.io/kruise/pkg/apis/rules/rulestest"
)

func podTemplate(policy corev1.RestartPolicy) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "main", Image: "demo:v1"}}, RestartPolicy: policy,
	}}
}

func broadcastSpec(apply func(*apps.BroadcastJobSpec)) apps.BroadcastJobSpec {
	spec := apps.BroadcastJobSpec{
		Parallelism: number(5), Template: podTemplate(corev1.RestartPolicyNever),
		CompletionPolicy: apps.CompletionPolicy{Type: apps.CompletionPolicyAlways},
		FailurePolicy:    apps.FailurePolicy{Type: apps.FailurePolicyTypeFailFast},
	}
	if apply != nil {
		apply(&spec)
	}
	return spec
}

func broadcastJob(spec apps.BroadcastJobSpec) *apps.BroadcastJob {
	return &apps.BroadcastJob{ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: "default", ResourceVersion: "1"}, Spec: spec}
}

// broadcastCases are the rules of a BroadcastJob's spec, by itself and within an AdvancedCronJob.
// Paths begin after "spec.".
var broadcastCases = map[string]struct {
	change func(*apps.BroadcastJobSpec)
	want   []string
}{
	"valid":               {nil, nil},
	"OnFailure":           {func(s *apps.BroadcastJobSpec) { s.Template = podTemplate(corev1.RestartPolicyOnFailure) }, nil},
	"Always (3)":          {func(s *apps.BroadcastJobSpec) { s.Template = podTemplate(corev1.RestartPolicyAlways) }, []string{`template.spec.restartPolicy: "Always": supported values: "Never", "OnFailure"`}},
	"no restartPolicy":    {func(s *apps.BroadcastJobSpec) { s.Template = podTemplate("") }, []string{`template.spec.restartPolicy: supported values: "Never", "OnFailure"`}},
	"other restartPolicy": {func(s *apps.BroadcastJobSpec) { s.Template = podTemplate("Maybe") }, []string{`template.spec.restartPolicy: "Maybe"`}},
	"label of name (16)":  {func(s *apps.BroadcastJobSpec) { s.Template.Labels = map[string]string{"broadcastjob-name": "x"} }, []string{"template.metadata.labels[broadcastjob-name]: the controller sets it"}},
	"label of UID": {func(s *apps.BroadcastJobSpec) {
		s.Template.Labels = map[string]string{"broadcastjob-controller-uid": "x"}
	}, []string{"template.metadata.labels[broadcastjob-controller-uid]: the controller sets it"}},
	"labels empty":         {func(s *apps.BroadcastJobSpec) { s.Template.Labels = map[string]string{"broadcastjob-name": ""} }, nil},
	"container name":       {func(s *apps.BroadcastJobSpec) { s.Template.Spec.Containers[0].Name = "Not_DNS" }, []string{`template.spec.containers[0].name: "Not_DNS"`}},
	"deadline of the Pod":  {func(s *apps.BroadcastJobSpec) { s.Template.Spec.ActiveDeadlineSeconds = ptr.To[int64](5) }, nil},
	"parallelism 0":        {func(s *apps.BroadcastJobSpec) { s.Parallelism = number(0) }, nil},
	"parallelism 50%":      {func(s *apps.BroadcastJobSpec) { s.Parallelism = text("50%") }, nil},
	"parallelism unset":    {func(s *apps.BroadcastJobSpec) { s.Parallelism = nil }, nil},
	"parallelism negative": {func(s *apps.BroadcastJobSpec) { s.Parallelism = number(-1) }, []string{`parallelism: "-1"`}},
	"parallelism abc":      {func(s *apps.BroadcastJobSpec) { s.Parallelism = text("abc") }, []string{`parallelism: "abc"`}},
	"Always with all":      {func(s *apps.BroadcastJobSpec) { s.CompletionPolicy = completion("Always", 1, 0) }, nil},
	"deadline 0":           {func(s *apps.BroadcastJobSpec) { s.CompletionPolicy = completion("Always", 0, 0) }, []string{"completionPolicy.activeDeadlineSeconds: 0: must be greater than 0"}},
	"ttl negative":         {func(s *apps.BroadcastJobSpec) { s.CompletionPolicy = completion("Always", 1, -1) }, []string{"completionPolicy.ttlSecondsAfterFinished: -1"}},
	"Never":                {func(s *apps.BroadcastJobSpec) { s.CompletionPolicy.Type = apps.CompletionPolicyNever }, nil},
	"Never with all (12)": {
		func(s *apps.BroadcastJobSpec) { s.CompletionPolicy = completion("Never", 1, 0) },
		[]string{
			"completionPolicy.activeDeadlineSeconds: can only work with Always CompletionPolicyType",
			"completionPolicy.ttlSecondsAfterFinished: can only work with Always CompletionPolicyType",
		},
	},
	"completion Sometimes":  {func(s *apps.BroadcastJobSpec) { s.CompletionPolicy.Type = "Sometimes" }, []string{`completionPolicy.type: "Sometimes"`}},
	"Continue":              {func(s *apps.BroadcastJobSpec) { s.FailurePolicy.Type = apps.FailurePolicyTypeContinue }, nil},
	"Pause":                 {func(s *apps.BroadcastJobSpec) { s.FailurePolicy.Type = apps.FailurePolicyTypePause }, nil},
	"failure Ignore":        {func(s *apps.BroadcastJobSpec) { s.FailurePolicy.Type = "Ignore" }, []string{`failurePolicy.type: "Ignore": supported values: "FailFast", "Continue", "Pause"`}},
	"restartLimit":          {func(s *apps.BroadcastJobSpec) { s.FailurePolicy.RestartLimit = 3 }, nil},
	"restartLimit negative": {func(s *apps.BroadcastJobSpec) { s.FailurePolicy.RestartLimit = -1 }, []string{"failurePolicy.restartLimit: -1"}},
}

func completion(policy apps.CompletionPolicyType, deadline int64, ttl int32) apps.CompletionPolicy {
	return apps.CompletionPolicy{Type: policy, ActiveDeadlineSeconds: &deadline, TTLSecondsAfterFinished: &ttl}
}

func below(prefix string, paths []string) []string {
	var result []string
	for _, path := range paths {
		result = append(result, prefix+path)
	}
	return result
}

// Cases broadcastjob 3, 12, 16.
func TestBroadcastJob(t *testing.T) {
	for name, test := range broadcastCases {
		t.Run(name, func(t *testing.T) {
			job := broadcastJob(broadcastSpec(test.change))
			before := job.DeepCopy()
			want := below("spec.", test.want)
			rulestest.Errors(t, want, validation.ValidateBroadcastJob(job))
			rulestest.Errors(t, want, validation.ValidateBroadcastJobUpdate(job, broadcastJob(broadcastSpec(nil))))
			rulestest.Errors(t, nil, validation.ValidateBroadcastJobUpdate(job, job.DeepCopy()))
			require.Equal(t, before, job, "validation must not change what it judges")
		})
		t.Run("created by an AdvancedCronJob: "+name, func(t *testing.T) {
			job := cronJob(func(s *apps.AdvancedCronJobSpec) { s.Template = broadcastTemplate(broadcastSpec(test.change)) })
			rulestest.Errors(t, below("spec.template.broadcastJobTemplate.spec.", test.want), validation.ValidateAdvancedCronJob(job))
			rulestest.Errors(t, nil, validation.ValidateAdvancedCronJobUpdate(job, job.DeepCopy()))
		})
	}
}

func TestNamesOfJobs(t *testing.T) {
	for name, test := range map[string]struct{ broadcast, cron []string }{
		"job-1":                 {},
		"with.dots":             {[]string{`metadata.name: "with.dots"`}, []string{`metadata.name: "with.dots"`}},
		"Upper":                 {[]string{`metadata.name: "Upper"`}, []string{`metadata.name: "Upper"`}},
		strings.Repeat("a", 52): {},
		strings.Repeat("a", 53): {nil, []string{"metadata.name: must be no more than 52 characters"}},
		strings.Repeat("a", 63): {nil, []string{"metadata.name: must be no more than 52 characters"}},
		strings.Repeat("a", 64): {[]string{"metadata.name: must be no more than 63"}, []string{"metadata.name: must be no more than 52", "metadata.name: must be no more than 63"}},
	} {
		t.Run(name, func(t *testing.T) {
			broadcast, cron := broadcastJob(broadcastSpec(nil)), cronJob(nil)
			broadcast.Name, cron.Name = name, name
			rulestest.Errors(t, test.broadcast, validation.ValidateBroadcastJob(broadcast))
			rulestest.Errors(t, test.cron, validation.ValidateAdvancedCronJob(cron))
			rulestest.Errors(t, nil, validation.ValidateAdvancedCronJobUpdate(cron, cron.DeepCopy()))
		})
	}
}

func TestBroadcastJobStatus(t *testing.T) {
	job := broadcastJob(broadcastSpec(nil))
	require.Empty(t, validation.ValidateBroadcastJobStatusUpdate(job, job))
	job.Status = apps.BroadcastJobStatus{Active: -1, Succeeded: -1, Failed: -1, Desired: -1}
	rulestest.Errors(t, []string{"status.active: -1", "status.succeeded: -1", "status.failed: -1", "status.desired: -1"},
		validation.ValidateBroadcastJobStatusUpdate(job, broadcastJob(broadcastSpec(nil))))
}

func jobTemplate(apply func(*batchv1.JobSpec)) apps.CronJobTemplate {
	template := &batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: podTemplate(corev1.RestartPolicyNever)}}
	if apply != nil {
		apply(&template.Spec)
	}
	return apps.CronJobTemplate{JobTemplate: template}
}

func broadcastTemplate(spec apps.BroadcastJobSpec) apps.CronJobTemplate {
	return apps.CronJobTemplate{BroadcastJobTemplate: &apps.BroadcastJobTemplateSpec{Spec: spec}}
}

func pullTemplate(apply func(*apps.ImageListPullJobSpec)) apps.CronJobTemplate {
	return apps.CronJobTemplate{ImageListPullJobTemplate: &apps.ImageListPullJobTemplateSpec{Spec: listJob(apply).Spec}}
}

func cronJob(apply func(*apps.AdvancedCronJobSpec)) *apps.AdvancedCronJob {
	job := &apps.AdvancedCronJob{
		ObjectMeta: metav1.ObjectMeta{Name: "cron", Namespace: "default", ResourceVersion: "1"},
		Spec: apps.AdvancedCronJobSpec{
			Schedule: "*/5 * * * *", ConcurrencyPolicy: apps.AllowConcurrent, Paused: new(false),
			SuccessfulJobsHistoryLimit: ptr.To[int32](3), FailedJobsHistoryLimit: ptr.To[int32](1), Template: jobTemplate(nil),
		},
	}
	if apply != nil {
		apply(&job.Spec)
	}
	return job
}

// Cases advancedcronjob 4, 5, 6.
func TestSchedule(t *testing.T) {
	at := func(schedule string) func(*apps.AdvancedCronJobSpec) {
		return func(s *apps.AdvancedCronJobSpec) { s.Schedule = schedule }
	}
	in := func(schedule, zone string) func(*apps.AdvancedCronJobSpec) {
		return func(s *apps.AdvancedCronJobSpec) { s.Schedule, s.TimeZone = schedule, &zone }
	}
	for name, test := range map[string]struct {
		change func(*apps.AdvancedCronJobSpec)
		want   []string
	}{
		"five fields":           {at("0 8 * * 1-5"), nil},
		"@hourly":               {at("@hourly"), nil},
		"@every":                {at("@every 1h30m"), nil},
		"TZ":                    {at("TZ=Etc/UTC 0 1 * * *"), nil},
		"CRON_TZ":               {at("CRON_TZ=Asia/Shanghai 0 1 * * *"), nil},
		"empty (6)":             {at(""), []string{"spec.schedule: Required"}},
		"minute 61 (6)":         {at("61 * * * *"), []string{`spec.schedule: "61 * * * *"`}},
		"TZ= alone (6)":         {at("TZ="), []string{`spec.schedule: "TZ=": cannot be read`}},
		"TZ=0 alone":            {at("TZ=0"), []string{`spec.schedule: "TZ=0": cannot be read`}},
		"TZ of nowhere":         {at("TZ=Mars/X 0 1 * * *"), []string{"spec.schedule: Mars/X"}},
		"six fields":            {at("0 0 8 * * *"), []string{`spec.schedule: "0 0 8 * * *"`}},
		"@sometimes":            {at("@sometimes"), []string{`spec.schedule: "@sometimes"`}},
		"zone (4)":              {in("0 1 * * *", "Etc/UTC"), nil},
		"zone Local (4)":        {in("0 1 * * *", "Local"), []string{`spec.timeZone: "Local": must name a time zone`}},
		"zone local (4)":        {in("0 1 * * *", "local"), []string{`spec.timeZone: "local"`}},
		"zone empty (4)":        {in("0 1 * * *", ""), []string{`spec.timeZone: ""`}},
		"zone of nowhere (4)":   {in("0 1 * * *", "Mars/X"), []string{`spec.timeZone: "Mars/X"`}},
		"zone outside":          {in("0 1 * * *", "../UTC"), []string{`spec.timeZone: "../UTC"`}},
		"zone and TZ (5)":       {in("TZ=UTC 0 1 * * *", "Etc/UTC"), []string{"spec.schedule: cannot use both timeZone field and TZ or CRON_TZ in schedule"}},
		"zone and CRON_TZ":      {in("CRON_TZ=UTC 0 1 * * *", "Etc/UTC"), []string{"spec.schedule: cannot use both timeZone field and TZ or CRON_TZ in schedule"}},
		"zone and a TZ further": {in("0 1 * * TZ", "Etc/UTC"), []string{`spec.schedule: "0 1 * * TZ": failed to parse`}},
	} {
		t.Run(name, func(t *testing.T) {
			job := cronJob(test.change)
			rulestest.Errors(t, test.want, validation.ValidateAdvancedCronJob(job))
			rulestest.Errors(t, test.want, validation.ValidateAdvancedCronJobUpdate(job, cronJob(nil)))
			rulestest.Errors(t, nil, validation.ValidateAdvancedCronJobUpdate(job, job.DeepCopy()))
		})
	}
}

// Cases advancedcronjob 3, 19.
func TestAdvancedCronJob(t *testing.T) {
	pull := func(apply func(*apps.ImageListPullJobSpec)) func(*apps.AdvancedCronJobSpec) {
		return func(s *apps.AdvancedCronJobSpec) {
			s.ConcurrencyPolicy, s.Template = apps.ReplaceConcurrent, pullTemplate(apply)
		}
	}
	const pulls, jobs = "spec.template.imageListPullJobTemplate.spec.", "spec.template.jobTemplate.spec."
	for name, test := range map[string]struct {
		change func(*apps.AdvancedCronJobSpec)
		want   []string
	}{
		"valid":             {nil, nil},
		"deadline 0":        {func(s *apps.AdvancedCronJobSpec) { s.StartingDeadlineSeconds = ptr.To[int64](0) }, nil},
		"deadline negative": {func(s *apps.AdvancedCronJobSpec) { s.StartingDeadlineSeconds = ptr.To[int64](-1) }, []string{"spec.startingDeadlineSeconds: -1"}},
		"history 0": {func(s *apps.AdvancedCronJobSpec) {
			s.SuccessfulJobsHistoryLimit, s.FailedJobsHistoryLimit = ptr.To[int32](0), ptr.To[int32](0)
		}, nil},
		"history negative": {
			func(s *apps.AdvancedCronJobSpec) {
				s.SuccessfulJobsHistoryLimit, s.FailedJobsHistoryLimit = ptr.To[int32](-1), ptr.To[int32](-1)
			},
			[]string{"spec.successfulJobsHistoryLimit: -1", "spec.failedJobsHistoryLimit: -1"},
		},
		"Forbid":          {func(s *apps.AdvancedCronJobSpec) { s.ConcurrencyPolicy = apps.ForbidConcurrent }, nil},
		"Replace":         {func(s *apps.AdvancedCronJobSpec) { s.ConcurrencyPolicy = apps.ReplaceConcurrent }, nil},
		"Sometimes":       {func(s *apps.AdvancedCronJobSpec) { s.ConcurrencyPolicy = "Sometimes" }, []string{`spec.concurrencyPolicy: "Sometimes": supported values: "Allow", "Forbid", "Replace"`}},
		"no template (3)": {func(s *apps.AdvancedCronJobSpec) { s.Template = apps.CronJobTemplate{} }, []string{"spec.template: Forbidden: must have one template"}},
		"two templates (3)": {func(s *apps.AdvancedCronJobSpec) {
			s.Template.BroadcastJobTemplate = broadcastTemplate(broadcastSpec(nil)).BroadcastJobTemplate
		}, []string{"spec.template: Forbidden: can have only one template"}},
		"Job that restarts": {func(s *apps.AdvancedCronJobSpec) {
			s.Template = jobTemplate(func(j *batchv1.JobSpec) { j.Template.Spec.RestartPolicy = "Always" })
		}, []string{jobs + "template.spec.restartPolicy: OnFailure"}},
		"Job's container": {func(s *apps.AdvancedCronJobSpec) {
			s.Template = jobTemplate(func(j *batchv1.JobSpec) { j.Template.Spec.Containers[0].Name = "A_B" })
		}, []string{jobs + `template.spec.containers[0].name: "A_B"`}},
		"Job's parallelism": {func(s *apps.AdvancedCronJobSpec) {
			s.Template = jobTemplate(func(j *batchv1.JobSpec) { j.Parallelism = ptr.To[int32](-1) })
		}, []string{jobs + "parallelism: -1"}},
		"labels of Jobs": {func(s *apps.AdvancedCronJobSpec) { s.Template.JobTemplate.Labels = map[string]string{"a": "not valid"} }, []string{`spec.template.jobTemplate.metadata.labels: "not valid"`}},
		"annotations of Jobs": {
			func(s *apps.AdvancedCronJobSpec) {
				s.Template.JobTemplate.Annotations = map[string]string{"not valid": ""}
			}, []string{`spec.template.jobTemplate.metadata.annotations: "not valid"`},
		},
		"BroadcastJobs without policies": {func(s *apps.AdvancedCronJobSpec) {
			s.Template = broadcastTemplate(apps.BroadcastJobSpec{Template: podTemplate(corev1.RestartPolicyNever)})
		}, nil},
		"labels of BroadcastJobs": {
			func(s *apps.AdvancedCronJobSpec) {
				s.Template = broadcastTemplate(broadcastSpec(nil))
				s.Template.BroadcastJobTemplate.Labels = map[string]string{"a": "not valid"}
			}, []string{`spec.template.broadcastJobTemplate.metadata.labels: "not valid"`},
		},
		"labels of pulls": {
			func(s *apps.AdvancedCronJobSpec) {
				pull(nil)(s)
				s.Template.ImageListPullJobTemplate.Labels = map[string]string{"a": "not valid"}
			}, []string{`spec.template.imageListPullJobTemplate.metadata.labels: "not valid"`},
		},
		"pull":             {pull(nil), nil},
		"pull, Forbid":     {func(s *apps.AdvancedCronJobSpec) { pull(nil)(s); s.ConcurrencyPolicy = apps.ForbidConcurrent }, nil},
		"pull, Allow":      {func(s *apps.AdvancedCronJobSpec) { pull(nil)(s); s.ConcurrencyPolicy = apps.AllowConcurrent }, []string{`spec.concurrencyPolicy: "Allow": supported values: "Replace", "Forbid"`}},
		"pull, Never":      {pull(func(s *apps.ImageListPullJobSpec) { s.CompletionPolicy.Type = "Never" }), []string{pulls + `completionPolicy.type: "Never": supported values: "Always"`}},
		"pull, ttl":        {pull(func(s *apps.ImageListPullJobSpec) { s.CompletionPolicy.TTLSecondsAfterFinished = ptr.To[int32](5) }), []string{pulls + "completionPolicy.ttlSecondsAfterFinished: Forbidden"}},
		"pull, a day":      {pull(func(s *apps.ImageListPullJobSpec) { s.CompletionPolicy.ActiveDeadlineSeconds = ptr.To[int64](86400) }), nil},
		"pull, longer":     {pull(func(s *apps.ImageListPullJobSpec) { s.CompletionPolicy.ActiveDeadlineSeconds = ptr.To[int64](86401) }), []string{pulls + "completionPolicy.activeDeadlineSeconds: must be less than or equal to 86400"}},
		"pull, as timeout": {pull(func(s *apps.ImageListPullJobSpec) { s.CompletionPolicy.ActiveDeadlineSeconds = ptr.To[int64](600) }), nil},
		"pull, shorter":    {pull(func(s *apps.ImageListPullJobSpec) { s.CompletionPolicy.ActiveDeadlineSeconds = ptr.To[int64](599) }), []string{pulls + "completionPolicy.activeDeadlineSeconds: must be greater than pullPolicy.timeoutSeconds"}},
		"pull of nothing":  {pull(func(s *apps.ImageListPullJobSpec) { s.Images = nil }), []string{pulls + "images: image can not be empty"}},
		"pull twice":       {pull(func(s *apps.ImageListPullJobSpec) { s.Images = []string{"a", "a"} }), []string{pulls + "images[1]: images cannot have duplicate values"}},
		"pull by both": {pull(func(s *apps.ImageListPullJobSpec) {
			s.Selector, s.PodSelector = byName("n"), &apps.ImagePullJobPodSelector{LabelSelector: byLabel("b")}
		}), []string{pulls + "selector: can not set both selector and podSelector"}},
	} {
		t.Run(name, func(t *testing.T) {
			job := cronJob(test.change)
			before := job.DeepCopy()
			rulestest.Errors(t, test.want, validation.ValidateAdvancedCronJob(job))
			rulestest.Errors(t, nil, validation.ValidateAdvancedCronJobUpdate(job, job.DeepCopy()))
			require.Equal(t, before, job, "validation must not change what it judges")
		})
	}
}

// Case advancedcronjob 12.
func TestTemplatesCannotBeChanged(t *testing.T) {
	job := func(image string) func(*apps.AdvancedCronJobSpec) {
		return func(s *apps.AdvancedCronJobSpec) {
			s.Template = jobTemplate(func(j *batchv1.JobSpec) { j.Template.Spec.Containers[0].Image = image })
		}
	}
	broadcast := func(image string) func(*apps.AdvancedCronJobSpec) {
		return func(s *apps.AdvancedCronJobSpec) {
			s.Template = broadcastTemplate(broadcastSpec(func(b *apps.BroadcastJobSpec) { b.Template.Spec.Containers[0].Image = image }))
		}
	}
	pull := func(image string) func(*apps.AdvancedCronJobSpec) {
		return func(s *apps.AdvancedCronJobSpec) {
			s.ConcurrencyPolicy = apps.ReplaceConcurrent
			s.Template = pullTemplate(func(l *apps.ImageListPullJobSpec) { l.Images = []string{image} })
		}
	}
	const jobs, broadcasts = "spec.template.jobTemplate: Forbidden: cannot be changed", "spec.template.broadcastJobTemplate: Forbidden: cannot be changed"
	for name, test := range map[string]struct {
		before, after func(*apps.AdvancedCronJobSpec)
		want          []string
	}{
		"image of a Job":          {job("a"), job("b"), []string{jobs}},
		"image of a BroadcastJob": {broadcast("a"), broadcast("b"), []string{broadcasts}},
		"images of a pull":        {pull("a"), pull("b"), nil},
		"another kind":            {job("a"), broadcast("a"), []string{jobs, broadcasts}},
		"no longer a pull":        {pull("a"), job("a"), []string{jobs}},
		"label of a Job": {job("a"), func(s *apps.AdvancedCronJobSpec) {
			job("a")(s)
			s.Template.JobTemplate.Labels = map[string]string{"a": "b"}
		}, []string{jobs}},
		"defaults": {job("a"), func(s *apps.AdvancedCronJobSpec) {
			job("a")(s)
			s.Template.JobTemplate.Spec.Template.Spec.DNSPolicy = corev1.DNSClusterFirst
		}, nil},
		"defaults of a BroadcastJob": {broadcast("a"), func(s *apps.AdvancedCronJobSpec) {
			broadcast("a")(s)
			s.Template.BroadcastJobTemplate.Spec.Template.Spec.DNSPolicy = corev1.DNSClusterFirst
		}, nil},
		"policies that a BroadcastJob gets": {broadcast("a"), func(s *apps.AdvancedCronJobSpec) {
			broadcast("a")(s)
			job := &s.Template.BroadcastJobTemplate.Spec
			job.CompletionPolicy, job.FailurePolicy = apps.CompletionPolicy{}, apps.FailurePolicy{}
		}, nil},
		"parallelism of a BroadcastJob": {broadcast("a"), func(s *apps.AdvancedCronJobSpec) {
			broadcast("a")(s)
			s.Template.BroadcastJobTemplate.Spec.Parallelism = nil
		}, []string{broadcasts}},
		"everything else": {job("a"), func(s *apps.AdvancedCronJobSpec) {
			job("a")(s)
			s.Schedule, s.ConcurrencyPolicy, s.Paused, s.TimeZone = "@daily", apps.ForbidConcurrent, new(true), new("Etc/UTC")
			s.SuccessfulJobsHistoryLimit, s.FailedJobsHistoryLimit = ptr.To[int32](7), ptr.To[int32](7)
			s.StartingDeadlineSeconds = ptr.To[int64](7)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			rulestest.Errors(t, test.want, validation.ValidateAdvancedCronJobUpdate(cronJob(test.after), cronJob(test.before)))
		})
	}
}

func TestAdvancedCronJobErrorsInV1alpha1(t *testing.T) {
	job := cronJob(func(s *apps.AdvancedCronJobSpec) {
		s.Schedule, s.ConcurrencyPolicy = "", apps.ReplaceConcurrent
		s.Template = pullTemplate(func(l *apps.ImageListPullJobSpec) { l.Images = nil })
	})
	rulestest.Errors(t, []string{"spec.schedule: Required", "metadata.annotations[apps.kruise.io/v1beta1-fields].spec.images: Required"},
		validation.AdvancedCronJobErrorsIn("v1alpha1", validation.ValidateAdvancedCronJob(job)))
	require.Empty(t, validation.ValidateAdvancedCronJobStatusUpdate(job, job))
}

func TestWarnAdvancedCronJob(t *testing.T) {
	twice := []corev1.EnvVar{{Name: "A"}, {Name: "A"}}
	job := cronJob(func(s *apps.AdvancedCronJobSpec) {
		s.Template = jobTemplate(func(j *batchv1.JobSpec) { j.Template.Spec.Containers[0].Env = twice })
		s.Template.BroadcastJobTemplate = broadcastTemplate(broadcastSpec(nil)).BroadcastJobTemplate
		s.Template.BroadcastJobTemplate.Spec.Template.Spec.Containers[0].Env = twice
	})
	warnings := validation.WarnAdvancedCronJob(t.Context(), job, nil)
	require.Len(t, warnings, 2)
	require.Contains(t, warnings[0], "spec.template.jobTemplate.spec.template.spec.containers[0].env[1]")
	require.Contains(t, warnings[1], "spec.template.broadcastJobTemplate.spec.template.spec.containers[0].env[1]")
	require.Len(t, validation.WarnAdvancedCronJob(t.Context(), job, job), 2, "what is questionable stays so")
	require.Empty(t, validation.WarnAdvancedCronJob(t.Context(), cronJob(nil), cronJob(nil)))
}
