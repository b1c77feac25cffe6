//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rolling are workloads whose rollouts commands show. Only web and db have Pods that run. The Pods of the others find no node.
const rolling = `apiVersion: apps.kruise.io/v1beta1
kind: CloneSet
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  updateStrategy: {rollingUpdate: {podUpdatePolicy: InPlaceIfPossible}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 5
      volumes: [{name: logs, emptyDir: {}}]
      containers:
      - name: main
        image: kruise.local/demo:v1
        imagePullPolicy: IfNotPresent
        args: [follow, /logs/orders]
        volumeMounts: [{name: logs, mountPath: /logs}]
---
apiVersion: apps.kruise.io/v1beta1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 1
  selector: {matchLabels: {app: db}}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
  template:
    metadata: {labels: {app: db}}
    spec:
      terminationGracePeriodSeconds: 5
      containers:
      - {name: main, image: "kruise.local/demo:v1", imagePullPolicy: IfNotPresent, volumeMounts: [{name: data, mountPath: /data}]}
---
apiVersion: apps.kruise.io/v1beta1
kind: CloneSet
metadata: {name: late}
spec:
  replicas: 2
  progressDeadlineSeconds: 1
  selector: {matchLabels: {app: late}}
  updateStrategy: {rollingUpdate: {podUpdatePolicy: ReCreate}}
  template:
    metadata: {labels: {app: late}}
    spec:
      nodeSelector: {e2e: none}
      containers: [{name: main, image: "kruise.local/demo:v1"}]
---
apiVersion: apps.kruise.io/v1beta1
kind: CloneSet
metadata: {name: slow}
spec:
  replicas: 2
  selector: {matchLabels: {app: slow}}
  updateStrategy: {rollingUpdate: {podUpdatePolicy: ReCreate}}
  template:
    metadata: {labels: {app: slow}}
    spec:
      nodeSelector: {e2e: none}
      containers: [{name: main, image: "kruise.local/demo:v1"}]
---
apiVersion: policy.kruise.io/v1beta1
kind: PodUnavailableBudget
metadata: {name: web}
spec:
  maxUnavailable: 1
  targetRef: {apiVersion: apps.kruise.io/v1beta1, kind: CloneSet, name: web}
`

// Cases kubectl-plugin 7, 8, 23, 24, 28, 31, 33, 34, 35, 37: what commands show of workloads and their Pods.
func TestPluginShowsRollouts(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(rolling, "--server-side")
	s := e.session()
	e.ready("web", 1)
	e.eventually("the StatefulSet runs, and the deadline is over", func(c *require.Assertions, _ context.Context) {
		c.Equal("1", e.kubectl("get", "asts", "db", "-o", "jsonpath={.status.updatedAvailableReplicas}"))
		c.Contains(e.kubectl("get", "clone", "late", "-o", "jsonpath={.status.conditions}"), "ProgressDeadlineExceeded")
		c.Equal("1", e.kubectl("get", "pub", "web", "-o", "jsonpath={.status.currentAvailable}"))
		c.Equal("2", e.kubectl("get", "clone", "slow", "-o", "jsonpath={.status.replicas}"))
	})
	s.types(`
rollout status clone/slow --watch=false
rollout status clone/slow --timeout=10s
rollout status clone/slow --revision=1 --watch=false
rollout status clone/late
rollout watch clone/late
rollout status asts/db
rollout status clone/web -d
rollout status clone/slow -d --watch=false
rollout status pod/POD
rollout list
get tree clone/web
get tree asts/db
get tree clone/slow
get tree pod/POD
describe clone/web --show-events=false
describe asts/db --show-events=false
logs clone/web
logs asts/db
exec clone/web -- /demo none
exec asts/db -c none -- /demo none
exec POD -S none -- /demo none
why clone/web
why pod POD
why asts/db
why pub/web
why deployment/none
why
wait clone/web --for=jsonpath='{.status.readyReplicas}'=1
`)
	s.listsAll()
	s.types(`
set image asts/db main=kruise.local/demo:v2`)
	watched, err := s.run(t.Context(), "kubectl-kruise rollout watch asts/db")
	require.NoError(t, err, watched)
	// A slow machine completes the update before the command looks.
	assert.Regexp(t, "(?s)^(Waiting for .*\n)?Advanced StatefulSet rolling update complete 1 pods at revision db-[0-9a-z]+...\n$", watched)
	e.ready("web", 1)
	s.types(`
rollout status asts/db
get asts/db -o 'custom-columns=NAME:.metadata.name,IMAGE:.spec.template.spec.containers[0].image,UPDATED:.status.updatedReplicas'
scaledown clone/web --pods=none
scaledown clone/web --pods=db-0
scaledown clone/web --pods=POD --dry-run=server
scaledown clone/web --pods=POD
get clone/web -o jsonpath='{.spec.replicas}'`)
	e.ready("web", 0)
	s.shows("pods.txt")
	described, err := s.run(t.Context(), "kubectl-kruise describe clone/web")
	require.NoError(t, err, described)
	_, events, _ := strings.Cut(described, "Events:")
	for _, event := range []string{"SuccessfulCreate", "SuccessfulDelete"} {
		assert.Contains(t, events, event)
	}
}

// listsAll records what get all prints about the namespace. It leaves out kinds without a namespace, because other tests create some.
func (s *session) listsAll() {
	s.e.t.Helper()
	out, err := s.run(s.e.t.Context(), "kubectl-kruise get all")
	require.NoError(s.e.t, err, out)
	s.text.WriteString("$ kubectl kruise get all\n")
	for table := range strings.SplitSeq(strings.Trim(out, "\n"), "\n\n") {
		if !strings.HasPrefix(table, "sidecarsets:") && !strings.HasPrefix(table, "resourcedistributions:") {
			fmt.Fprintf(&s.text, "\n%s\n", table)
		}
	}
}
