//go:build e2e

package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// changed are objects that commands change. No Pod of them ever runs.
const changed = `apiVersion: apps.kruise.io/v1beta1
kind: CloneSet
metadata: {name: web, annotations: {kubernetes.io/change-cause: first version}}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: main, image: "kruise.local/demo:v1"}
      - {name: side, image: "kruise.local/demo:v1", env: [{name: KEPT, value: "yes"}]}
---
apiVersion: apps.kruise.io/v1beta1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 0
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers:
      - {name: main, image: "kruise.local/demo:v1"}
      - {name: side, image: "kruise.local/demo:v1"}
---
apiVersion: apps.kruise.io/v1beta1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      nodeSelector: {e2e: none}
      containers: [{name: main, image: "kruise.local/demo:v1"}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: old}
spec:
  replicas: 2
  selector: {matchLabels: {app: old}}
  template:
    metadata: {labels: {app: old}}
    spec:
      nodeSelector: {e2e: none}
      containers: [{name: main, image: "kruise.local/demo:v1"}]
---
apiVersion: apps.kruise.io/v1beta1
kind: AdvancedCronJob
metadata: {name: nightly}
spec:
  schedule: "0 0 29 2 *"
  template:
    broadcastJobTemplate:
      metadata: {labels: {from: nightly}}
      spec:
        template:
          spec:
            nodeSelector: {e2e: none}
            restartPolicy: Never
            containers: [{name: main, image: "kruise.local/demo:v1"}]
---
apiVersion: apps.kruise.io/v1beta1
kind: AdvancedCronJob
metadata: {name: yearly}
spec:
  schedule: "0 0 29 2 *"
  template:
    jobTemplate:
      spec:
        template:
          spec:
            nodeSelector: {e2e: none}
            restartPolicy: Never
            containers: [{name: main, image: "kruise.local/demo:v1"}]
---
apiVersion: v1
kind: Pod
metadata: {name: pending}
spec:
  nodeSelector: {e2e: none}
  containers:
  - {name: main, image: "kruise.local/demo:v1", ports: [{containerPort: 8080}]}
  - {name: side, image: "kruise.local/demo:v1"}
`

// Cases kubectl-plugin 1, 2, 3, 4, 5, 6, 10, 12, 25, 40: revisions and templates of a CloneSet that has no Pods.
func TestPluginChangesTemplates(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(changed, "--server-side")
	s := e.session()
	// Each command waits until the set has observed the one before, so that every change is a revision.
	next := func(lines string) {
		t.Helper()
		for line := range strings.Lines(strings.TrimSpace(lines)) {
			s.types(line)
			e.ready("web", 0)
		}
	}
	next(`
rollout undo clone/web
rollout undo
rollout pause clone/web
rollout pause clone/web
rollout resume clone/web
rollout resume clone/web
rollout pause asts/db
rollout resume asts/db
rollout pause daemonsets.apps.kruise.io/agent
rollout resume daemonsets.apps.kruise.io/agent
set image clone/web none=kruise.local/demo:v2
set image clone/web
set image clone/web *=kruise.local/demo:v3 --dry-run=client
set image clone/web *=kruise.local/demo:v3 --dry-run=server
get clone/web -o jsonpath='{.spec.template.spec.containers[*].image}'`)
	e.kubectl("annotate", "cloneset", "web", "kubernetes.io/change-cause-")
	next(`
set image clone/web main=kruise.local/demo:v2
get clone/web -o jsonpath='{.spec.template.spec.containers[*].image}'
rollout history clone/web
rollout history clone/web --revision=1
rollout history clone/web --revision=9
rollout history clone/web -o name
set image clone/web *=kruise.local/demo:v2
set env clone/web -c main A=1 B=2
set env clone/web --list
set env clone/web C=3 --dry-run=client
set env clone/web A-
set env clone/web -c side KEPT=no --overwrite=false
set env clone/web --list
set resources clone/web -c main --limits=cpu=1,memory=64Mi --requests=cpu=10m
set resources clone/web
set serviceaccount clone/web robot
set selector clone/web a=b
get clone/web -o jsonpath='{.spec.template.spec.containers[0].resources}{.spec.template.spec.serviceAccountName}'
rollout undo clone/web --to-revision=1 --dry-run=client
rollout undo clone/web --to-revision=1 --dry-run=server
get clone/web -o jsonpath='{.spec.template.spec.containers[*].image}'
rollout undo clone/web --to-revision=99
rollout undo clone/web --to-revision=1
get clone/web -o jsonpath='{.spec.template.spec}'
rollout history clone/web
rollout undo clone/web --to-revision=8`)
	s.shows("templates.txt")
}

// Cases kubectl-plugin 9, 11, 13a, 14a, 15, 16, 17, 19, 20, 41: commands that create or change one object each.
func TestPluginChangesObjects(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(changed, "--server-side")
	e.apply(strings.ReplaceAll(strings.Split(changed, "---\n")[1], "db", "cache"), "--server-side")
	sidecars := e.sidecarSet("none", `  containers: [{name: side, image: "side:1", podInjectPolicy: BeforeAppContainer}]
  initContainers: [{name: prepare, image: "prepare:1"}]
`)
	s := e.session()
	s.types(`
rollout restart asts db cache
rollout restart clone web
get asts/db asts/cache clone/web -o jsonpath='{range.items[*]}{.spec.template.spec.containers[*].env[*].name}{"|"}{end}'
rollout restart sidecarset/` + sidecars + `
set image sidecarset/` + sidecars + ` side=side:2 prepare=prepare:2
set env sidecarset/` + sidecars + ` -c side A=1
get sidecarset ` + sidecars + ` -o jsonpath='{.spec.containers[0].image}{.spec.containers[0].podInjectPolicy}{.spec.containers[0].env}{.spec.initContainers[0].image}'
expose clone/web
expose clone/web --port=80 --target-port=8080
get service web -o jsonpath='{.spec.selector}{.spec.ports[0].port}'
expose asts/db --port=80
autoscale clone/web --min=1 --max=9 --cpu=80%
get hpa web -o jsonpath='{.spec.scaleTargetRef}'
scale clone/web --replicas=0
scale asts/db --replicas=0 --current-replicas=3
scaledown clone/web --pods=none
scaledown clone/web
scaledown asts/db --pods=pending
create job now --from=acj/yearly
create job now --from=acj/nightly
create broadcastJob all --from=acj/nightly
create broadcastJob all --from=acj/yearly
create broadcastJob all
create broadcastJob all --from=acj/nightly -- date
create broadcastJob all --image=kruise.local/demo:v1 --dry-run=client -o jsonpath='{.spec.template.spec}' -- /demo sleep 1
create broadcastJob all --from=cronjob/none
get job/now bcj/all -o jsonpath='{range.items[*]}{.metadata.ownerReferences[0].name}{.metadata.labels.from}{.metadata.annotations}{"|"}{end}'
create ContainerRecreateRequest again
create ContainerRecreateRequest again --pod=none
create ContainerRecreateRequest again --pod=pending --containers=none
create ContainerRecreateRequest again --pod=pending --containers=side -u 5 -m 7 --dry-run=client -o jsonpath='{.spec}'
create ImagePullJob warm
create ImagePullJob warm --image=kruise.local/demo:v1 --parallelism=5 --nodes=a,b --dry-run=server
migrate CloneSet --from=Deployment --src-name=old --create
migrate StatefulSet -n NAMESPACE --from=Deployment --src-name=old --create
migrate CloneSet -n NAMESPACE --from=ReplicaSet --src-name=old --create
migrate CloneSet -n NAMESPACE --from=Deployment --create
migrate CloneSet -n NAMESPACE --from=Deployment --src-name=old
migrate CloneSet -n NAMESPACE --from=Deployment --src-name=old --dst-name=copy --create --copy
get deployment/old clone/copy -o jsonpath='{.items[*].spec.replicas}'
create -f artifacts/examples/containerrecreaterequest.yaml
`)
	s.shows("objects.txt")
	// Other releases send the ports of the container, which the server fills in itself.
	out := e.refused(`apiVersion: apps.kruise.io/v1alpha1
kind: ContainerRecreateRequest
metadata: {name: other}
spec:
  podName: pending
  containers: [{name: main, ports: [{containerPort: 8080}]}]
  strategy: {failurePolicy: Fail, orderedRecreate: false, unreadyGracePeriodSeconds: 3, minStartedSeconds: 3}
  activeDeadlineSeconds: 300
  ttlSecondsAfterFinished: 1800
`, "create", "-f", "-")
	assert.Contains(t, out, "preStop, ports, statusContext in container are ready-only fields")
	e.eventually("the copy has its Pods", func(c *require.Assertions, _ context.Context) { c.Len(e.pods("old"), 4) })
}
