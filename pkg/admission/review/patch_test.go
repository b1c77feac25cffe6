package review

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
)

// newer is a Pod of a server with fields that our types do not know. Their names begin with "next".
const newer = `{"apiVersion":"v1","kind":"Pod","nextTop":[1],
"metadata":{"name":"web","nextMeta":{"a":1},"annotations":{"a":"b"}},
"spec":{"nextSpec":12345678901234567890,
 "containers":[
  {"name":"app","image":"app:1","nextContainer":true,"env":[{"name":"A","value":"1","nextEnv":1},{"name":"A","value":"2","nextEnv":2}],
   "ports":[{"containerPort":53,"protocol":"TCP","nextPort":"t"},{"containerPort":53,"protocol":"UDP","nextPort":"u"}],
   "volumeMounts":[{"name":"v","mountPath":"/a","nextMount":"a"},{"name":"v","mountPath":"/b","nextMount":"b"}]},
  {"name":"log","image":"log:1","nextContainer":false}],
 "readinessGates":[{"conditionType":"a/b","nextGate":"kept"}],
 "tolerations":[{"key":"k","nextToleration":1},{"operator":"Exists","nextToleration":2}]}}`

func podOf(t *testing.T, raw string) *corev1.Pod {
	t.Helper()
	object, err := decode([]byte(raw), corev1.SchemeGroupVersion.WithKind("Pod"))
	require.NoError(t, err)
	pod, ok := object.(*corev1.Pod)
	require.True(t, ok)
	return pod
}

// patched applies a change by a patch, as kube-apiserver does. It returns the result and the patch.
func patched(t *testing.T, raw string, change func(*corev1.Pod)) (result string, made []byte) {
	t.Helper()
	before := podOf(t, raw)
	after := before.DeepCopy()
	change(after)
	made, err := patch([]byte(raw), before, after)
	require.NoError(t, err)
	if made == nil {
		return raw, nil
	}
	operations, err := jsonpatch.DecodePatch(made)
	require.NoError(t, err)
	applied, err := operations.Apply([]byte(raw))
	require.NoError(t, err, "%s", made)
	assert.True(t, apiequality.Semantic.DeepEqual(after, podOf(t, string(applied))), "the change is made: %s", made)
	return string(applied), made
}

// A patch keeps unknown fields at every level, each with its own list element.
// Case pod-admission 6.
func TestUnknownFieldsArePreserved(t *testing.T) {
	sidecar := corev1.Container{Name: "sidecar", Image: "side:1"}
	replace := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(newer) }
	tests := map[string]struct {
		change func(*corev1.Pod)
		want   string
	}{
		"an annotation": {
			func(p *corev1.Pod) { p.Annotations["c"] = "d" }, replace(`{"a":"b"}`, `{"a":"b","c":"d"}`),
		},
		"the first label": {
			func(p *corev1.Pod) { p.Labels = map[string]string{"c/x": "d~"} }, replace(`"name":"web",`, `"name":"web","labels":{"c/x":"d~"},`),
		},
		"no annotation is left": {
			func(p *corev1.Pod) { delete(p.Annotations, "a") }, replace(`,"annotations":{"a":"b"}`, ``),
		},
		"one more gate": {
			func(p *corev1.Pod) {
				p.Spec.ReadinessGates = append(p.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: "c/d"})
			}, replace(`"nextGate":"kept"}`, `"nextGate":"kept"},{"conditionType":"c/d"}`),
		},
		"a container before the others, which change too": {
			func(p *corev1.Pod) {
				p.Spec.Containers[0].Env = append(p.Spec.Containers[0].Env, corev1.EnvVar{Name: "B", Value: "3"})
				p.Spec.Containers[1].Image = "log:2"
				p.Spec.Containers = append([]corev1.Container{sidecar}, p.Spec.Containers...)
			}, replace(`"nextEnv":2}`, `"nextEnv":2},{"name":"B","value":"3"}`, "log:1", "log:2",
				`{"name":"app"`, `{"name":"sidecar","image":"side:1","resources":{}},{"name":"app"`),
		},
		"a container goes": {
			func(p *corev1.Pod) { p.Spec.Containers = p.Spec.Containers[:1] },
			replace(`,
  {"name":"log","image":"log:1","nextContainer":false}`, ``),
		},
		"the first of two variables of a name": {
			func(p *corev1.Pod) { p.Spec.Containers[0].Env[0].Value = "9" }, replace(`"A","value":"1"`, `"A","value":"9"`),
		},
		"one of two ports of a number": {
			func(p *corev1.Pod) { p.Spec.Containers[0].Ports[1].HostPort = 5 }, replace(`"UDP",`, `"UDP","hostPort":5,`),
		},
		"one of two mounts of a volume": {
			func(p *corev1.Pod) { p.Spec.Containers[0].VolumeMounts[0].ReadOnly = true }, replace(`"/a",`, `"/a","readOnly":true,`),
		},
		"a toleration before the others": {
			func(p *corev1.Pod) {
				p.Spec.Tolerations = append([]corev1.Toleration{{Key: "z"}}, p.Spec.Tolerations...)
			}, replace(`{"key":"k"`, `{"key":"z"},{"key":"k"`),
		},
		"a field that newer servers leave out": {
			func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }, replace(`"kind":"Pod",`, `"kind":"Pod","status":{"phase":"Pending"},`),
		},
		"nothing": {func(*corev1.Pod) {}, newer},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			result, made := patched(t, newer, test.change)
			assert.JSONEq(t, test.want, result, "%s", made)
			assert.Equal(t, name == "nothing", made == nil)
			assert.Contains(t, result, "12345678901234567890", "numbers stay as they are written")
			_, again := patched(t, result, func(*corev1.Pod) {})
			assert.Nil(t, again)
		})
	}
}

// TestMergeIsTheChange applies random changes to random trees. Fields whose names begin with "x" stand for unknown fields.
func TestMergeIsTheChange(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 5000 {
		raw := randomTree(r, 4)
		before := known(raw)
		after := changed(r, known(raw), 3)
		merged := merge(raw, before, after)
		require.Equal(t, after, known(merged), "round %d: %v, %v", i, raw, merged)
		require.Equal(t, raw, merge(raw, before, before), "round %d", i)
		for name, value := range unknowns(raw) {
			if kept, stays := unknowns(merged)[name]; stays {
				require.Equal(t, value, kept, "round %d: %v, %v", i, raw, merged)
			}
		}
		from, err := json.Marshal(raw)
		require.NoError(t, err)
		to, err := json.Marshal(merged)
		require.NoError(t, err)
		require.Equal(t, bytes.Contains(from, []byte("xTop")), bytes.Contains(to, []byte("xTop")))
	}
}

func randomTree(r *rand.Rand, depth int) map[string]any {
	tree := map[string]any{}
	if depth == 4 && r.IntN(2) == 0 {
		tree["xTop"] = "kept"
	}
	for range r.IntN(4) {
		name := string(rune('a' + r.IntN(4)))
		switch r.IntN(3) {
		case 0:
			tree[name] = fmt.Sprint(r.IntN(3))
		case 1:
			if depth > 0 {
				tree[name] = randomTree(r, depth-1)
			}
		case 2:
			var list []any
			for j := range r.IntN(4) {
				// Names are unique, like container names. The unknown fields are unique too.
				list = append(list, map[string]any{"name": fmt.Sprint(name, depth, j), "v": fmt.Sprint(r.IntN(2)), "x": fmt.Sprint(r.IntN(100))})
			}
			if list != nil {
				tree[name] = list
			}
		}
	}
	return tree
}

// known returns the tree without the unknown fields, as our types would read and write it.
func known(value any) any {
	switch value := value.(type) {
	case map[string]any:
		result := map[string]any{}
		for name, field := range value {
			if !strings.HasPrefix(name, "x") {
				result[name] = known(field)
			}
		}
		return result
	case []any:
		result := make([]any, len(value))
		for i := range value {
			result[i] = known(value[i])
		}
		return result
	}
	return value
}

// changed applies random changes to the tree in place.
func changed(r *rand.Rand, value any, times int) any {
	tree, ok := value.(map[string]any)
	if !ok {
		return value
	}
	for range times {
		for name, field := range tree {
			switch list, isList := field.([]any); {
			case r.IntN(8) == 0:
				delete(tree, name)
			case isList:
				tree[name] = changedList(r, list)
			default:
				tree[name] = changed(r, field, 1)
			}
		}
		if r.IntN(3) == 0 {
			tree[fmt.Sprint("new", r.IntN(3))] = fmt.Sprint(r.IntN(9))
		}
	}
	return tree
}

func changedList(r *rand.Rand, list []any) []any {
	if element, ok := list[r.IntN(len(list))].(map[string]any); ok {
		element["v"] = fmt.Sprint(r.IntN(9))
	}
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return append([]any{map[string]any{"name": fmt.Sprint("added", r.IntN(1000000))}}, list...)
}

// unknowns returns the unknown fields of list elements, by path of names.
func unknowns(value any) map[string]any {
	all := map[string]any{}
	var walk func(path string, value any)
	walk = func(path string, value any) {
		switch value := value.(type) {
		case map[string]any:
			for name, field := range value {
				walk(path+"/"+name, field)
			}
		case []any:
			for _, element := range value {
				if object, ok := element.(map[string]any); ok && object["x"] != nil {
					all[path+"/"+fmt.Sprint(object["name"])] = object["x"]
				}
			}
		}
	}
	walk("", value)
	return all
}
