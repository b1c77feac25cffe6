package kubectl_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kruise.io/kruise/pkg/kubectl/kubectltest"
)

// spec returns the spec of an object.
func spec(t *testing.T, server *kubectltest.Server, group, plural, name string) map[string]any {
	t.Helper()
	found, _, err := unstructured.NestedMap(server.Get(t, group, plural, name).Object, "spec")
	assert.NoError(t, err)
	return found
}

// Case kubectl-plugin 13.
func TestScaledown(t *testing.T) {
	server := kubectltest.New(t, cloneSet, pod, strings.ReplaceAll(pod, "web-1", "web-2"))
	assert.Equal(t, "# web delete pods [web-1 web-2] successfully\ncloneset.apps.kruise.io/web selective pod deletion\n",
		run(t, server, "scaledown", "cloneset/web", "--pods", "web-1,web-2"))
	found := spec(t, server, apps, "clonesets", "web")
	assert.EqualValues(t, 3, found["replicas"])
	assert.Equal(t, map[string]any{"podsToDelete": []any{"web-1", "web-2"}}, found["scaleStrategy"])
	assert.Len(t, server.Writes(), 1)
}

// Case kubectl-plugin 13a.
func TestScaledownRefusesNamesThatRemoveNoPod(t *testing.T) {
	orphan := strings.NewReplacer("web-1", "orphan", "controller: true", "controller: false").Replace(pod)
	listed := strings.ReplaceAll(cloneSet, "replicas: 5\n", "replicas: 5\n  scaleStrategy: {podsToDelete: [web-2]}\n")
	server := kubectltest.New(t, listed, pod, strings.ReplaceAll(pod, "web-1", "web-2"), orphan, asts)
	for names, message := range map[string]string{
		"":            "must specify one pod name",
		"none":        `pods "none" not found`,
		"web-1,web-1": "Pod web-1 is named twice: name it once",
		"web-2":       "Pod web-2 is already in spec.scaleStrategy.podsToDelete: do not name it again",
		"orphan":      "CloneSet web: orphan is not one of its Pods: name one of them",
		"1,2,3,4,5,6": "CloneSet web has 5 replicas: name at most as many Pods, not 6",
	} {
		assert.Contains(t, fails(t, server, "scaledown", "cloneset/web", "--pods="+names), message)
	}
	assert.Contains(t, fails(t, server, "scaledown", "asts/db", "--pods=web-1"), "currently only supported CloneSet selective pods deletion")
	run(t, server, "scaledown", "cloneset/web", "--pods=web-1", "--dry-run=client")
	run(t, server, "scaledown", "cloneset/web", "--pods=web-1", "--dry-run=server")
	assert.Empty(t, server.Writes())
}

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: old, labels: {team: a}, annotations: {deployment.kubernetes.io/revision: "3", note: kept}}
spec:
  replicas: 4
  minReadySeconds: 2
  selector: {matchLabels: {app: old}}
  strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}
  template: {metadata: {labels: {app: old}}, spec: {containers: [{name: main, image: "nginx:1"}]}}`

// Cases kubectl-plugin 14, 14a.
func TestMigrateCreatesACloneSet(t *testing.T) {
	server := kubectltest.New(t, deployment)
	migrate := []string{"migrate", "CloneSet", "--from=Deployment", "-n=default", "--src-name=old"}
	assert.Equal(t, "Successfully created from Deployment/old to CloneSet/new\n", run(t, server, append(migrate, "--create", "--dst-name=new")...))
	found := spec(t, server, apps, "clonesets", "new")
	assert.EqualValues(t, 0, found["replicas"])
	assert.EqualValues(t, 2, found["minReadySeconds"])
	assert.Equal(t, map[string]any{"rollingUpdate": map[string]any{"podUpdatePolicy": "ReCreate", "maxSurge": float64(1), "maxUnavailable": float64(0)}},
		found["updateStrategy"])
	assert.Equal(t, map[string]string{"note": "kept"}, server.Get(t, apps, "clonesets", "new").GetAnnotations())
	run(t, server, append(migrate, "--create", "--copy")...)
	assert.EqualValues(t, 4, spec(t, server, apps, "clonesets", "old")["replicas"])
}

func TestMigrateSaysWhatIsMissing(t *testing.T) {
	server := kubectltest.New(t, deployment)
	for message, args := range map[string]string{
		"must specify namespace by -n or --namespace":       "CloneSet --from=Deployment --src-name=old --create",
		"currently only supported CloneSet as dst type":     "StatefulSet -n=default --from=Deployment --src-name=old --create",
		"currently only supported Deployment as src type":   "CloneSet -n=default --from=ReplicaSet --src-name=old --create",
		"must specify --src-name":                           "CloneSet -n=default --from=Deployment",
		"must specify --dst-name":                           "CloneSet -n=default --from=Deployment --src-name=old",
		"--max-surge must be at least 1":                    "CloneSet -n=default --from=Deployment --src-name=old --dst-name=new --max-surge=0",
		`failed to migrate: clonesets.apps.kruise.io "new"`: "CloneSet -n=default --from=Deployment --src-name=old --dst-name=new",
	} {
		assert.Contains(t, fails(t, server, append([]string{"migrate"}, strings.Fields(args)...)...), message)
	}
}

const twoContainers = `apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: a, image: "a:1", ports: [{containerPort: 80}]}, {name: b, image: "b:1"}]}`

// Case kubectl-plugin 15.
func TestRequestARestart(t *testing.T) {
	server := kubectltest.New(t, twoContainers)
	assert.Equal(t, "containerrecreaterequest.apps.kruise.io/r created\n",
		run(t, server, "create", "ContainerRecreateRequest", "r", "-p", "p", "--containers=a", "-u", "5", "-m", "7"))
	assert.Equal(t, map[string]any{
		"podName": "p", "containers": []any{map[string]any{"name": "a"}}, "activeDeadlineSeconds": float64(300), "ttlSecondsAfterFinished": float64(1800),
		"strategy": map[string]any{"failurePolicy": "Fail", "unreadyGracePeriodSeconds": float64(5), "minStartedSeconds": float64(7)},
	}, spec(t, server, apps, "containerrecreaterequests", "r"))
	run(t, server, "create", "crr", "all", "-p", "p")
	assert.Len(t, spec(t, server, apps, "containerrecreaterequests", "all")["containers"], 2)
	assert.Contains(t, fails(t, server, "create", "crr", "x", "-p", "none"), "pod none in namespace default not exist")
	assert.Contains(t, fails(t, server, "create", "crr", "x", "-p", "p", "--containers=c"), "has container not exist: c")
	assert.Contains(t, fails(t, server, "create", "crr", "x"), "must specify --pod")
	assert.Equal(t, "containerrecreaterequest.apps.kruise.io/x created (server dry run)\n",
		run(t, server, "create", "crr", "x", "-p", "p", "--dry-run=server"))
	assert.Len(t, server.Writes(), 2)
}

// Case kubectl-plugin 36.
func TestProgressOfRestartsAndPulls(t *testing.T) {
	server := kubectltest.New(t, twoContainers)
	after := func(text, document string) *onText {
		return &onText{text: text, call: func() { server.Put(t, document) }}
	}
	const request = "apiVersion: apps.kruise.io/v1beta1\nkind: ContainerRecreateRequest\nmetadata: {name: r}\n" +
		"status: {phase: Completed, completionTime: \"2026-01-01T00:00:00Z\", containerRecreateStates: [{name: a, phase: PHASE}]}"
	result := kubectltest.Watch(t, server, after("Pending", strings.ReplaceAll(request, "PHASE", "Succeeded")), "create", "crr", "r", "-p", "p", "--wait")
	assert.Equal(t, "containerrecreaterequest.apps.kruise.io/r created\nPending\nCompleted a=Succeeded\n", result.Out)
	assert.Zero(t, result.Code)
	result = kubectltest.Watch(t, server, after("Pending", strings.NewReplacer("PHASE", "Failed", "name: r", "name: s").Replace(request)),
		"create", "crr", "s", "-p", "p", "--wait")
	assert.Equal(t, "error: s failed", result.Err)
	const job = "apiVersion: apps.kruise.io/v1beta1\nkind: ImagePullJob\nmetadata: {name: j}\n" +
		"status: {desired: 2, succeeded: 2, completionTime: \"2026-01-01T00:00:00Z\"}"
	result = kubectltest.Watch(t, server, after("0 of 0", job), "create", "ImagePullJob", "j", "--image=i:1", "--parallelism=5", "--wait")
	assert.Equal(t, "imagepulljob.apps.kruise.io/j created\n0 of 0 nodes have the image, 0 pull, 0 failed\n"+
		"2 of 2 nodes have the image, 0 pull, 0 failed\n", result.Out)
}

const schedules = `apiVersion: apps.kruise.io/v1beta1
kind: AdvancedCronJob
metadata: {name: nightly}
spec: {schedule: "0 0 * * *", template: {broadcastJobTemplate: {metadata: {labels: {a: b}},
  spec: {template: {spec: {containers: [{name: main, image: "i:1"}]}}}}}}
---
apiVersion: apps.kruise.io/v1beta1
kind: AdvancedCronJob
metadata: {name: hourly}
spec: {schedule: "0 * * * *", template: {jobTemplate: {spec: {template: {spec: {containers: [{name: main, image: "i:2"}]}}}}}}`

// Case kubectl-plugin 17.
func TestJobsOfASchedule(t *testing.T) {
	server := kubectltest.New(t, schedules)
	assert.Equal(t, "broadcastjob.apps.kruise.io/now created\n", run(t, server, "create", "broadcastJob", "now", "--from=acj/nightly"))
	now := server.Get(t, apps, "broadcastjobs", "now")
	assert.Equal(t, map[string]string{"cronjob.kubernetes.io/instantiate": "manual"}, now.GetAnnotations())
	assert.Equal(t, map[string]string{"a": "b"}, now.GetLabels())
	assert.Equal(t, "nightly", now.GetOwnerReferences()[0].Name)
	assert.Contains(t, fails(t, server, "create", "broadcastJob", "j", "--from=acj/hourly"),
		"from must be a broadcastJob template, but got jobTemplate")
	assert.Equal(t, "job.batch/j created\n", run(t, server, "create", "job", "j", "--from=acj/hourly"))
	assert.Equal(t, "hourly", server.Get(t, "batch", "jobs", "j").GetOwnerReferences()[0].Name)
	assert.Contains(t, fails(t, server, "create", "job", "k", "--from=acj/nightly"), "from must be a job template")
	run(t, server, "create", "broadcastJob", "plain", "--image=i:1", "--", "date")
	assert.Contains(t, fails(t, server, "create", "broadcastJob", "x"), "either --image or --from must be specified")
	assert.Contains(t, fails(t, server, "create", "broadcastJob", "x", "--from=acj/nightly", "--", "date"), "cannot specify --from and command")
}
