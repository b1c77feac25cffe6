package kinds_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	kubescheme "k8s.io/client-go/kubernetes/scheme"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	kruisescheme "kruise.io/kruise/pkg/generated/clientset/versioned/scheme"
	"kruise.io/kruise/pkg/workload/kinds"
)

// TestKindsAreThoseOfTheClients compares each kind with what the clients know about its kind.
func TestKindsAreThoseOfTheClients(t *testing.T) {
	for _, kind := range kinds.All() {
		t.Run(kind.String(), func(t *testing.T) {
			object := kind.New()
			scheme := kubescheme.Scheme
			if kruisescheme.Scheme.Recognizes(kind.Resource.GroupVersion().WithKind(kind.Kind)) {
				scheme = kruisescheme.Scheme
			}
			found, _, err := scheme.ObjectKinds(object)
			require.NoError(t, err)
			assert.Equal(t, kind.Resource.GroupVersion().WithKind(kind.Kind), found[0])
			assert.Equal(t, strings.ToLower(kind.Kind)+"s", kind.Resource.Resource)
			assert.Same(t, kind, kinds.Of(kind.GroupKind))
			assert.Same(t, kind, kinds.OfObject(object))
			assert.Same(t, kind, kinds.OfResource(kind.Resource.GroupResource()))
			assert.Same(t, kind, kinds.OfController(&metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{
				APIVersion: kind.Resource.GroupVersion().String(), Kind: kind.Kind, Controller: new(true),
			}}}))
			if kind.Replicas != nil {
				assert.NotNil(t, kind.Replicas(object))
				assert.Nil(t, kind.Replicas(&corev1.Pod{}), "of another kind")
			}
			if kind.Template != nil && kind.GroupKind != kinds.ReplicationController {
				assert.NotNil(t, kind.Template(object))
				assert.Nil(t, kind.Template(&corev1.Pod{}), "of another kind")
			}
			assert.Equal(t, kind.Spread, kind.Selector != nil)
			if kind.Selector != nil {
				assert.Nil(t, kind.Selector(object), "it has none yet")
				assert.Nil(t, kind.Selector(&corev1.Pod{}), "of another kind")
			}
			if kind.Through != nil {
				assert.NotNil(t, kinds.Of(*kind.Through))
				assert.False(t, kind.OwnsPods)
			}
			assert.Equal(t, kind.OwnsPods, kind.AbsencePermits, "the Pods of an owner that is gone go as well")
		})
	}
}

func TestKindsOutsideTheTable(t *testing.T) {
	assert.Nil(t, kinds.OfObject(&corev1.Pod{}))
	assert.Nil(t, kinds.OfObject(nil))
	assert.Nil(t, kinds.OfController(&metav1.ObjectMeta{}))
}

func TestReplicas(t *testing.T) {
	count := func(object kinds.Object) int32 { return *kinds.OfObject(object).Replicas(object) }
	assert.EqualValues(t, 1, count(&v1beta1.CloneSet{}), "where the object does not say")
	assert.EqualValues(t, 3, count(&v1beta1.CloneSet{Spec: v1beta1.CloneSetSpec{Replicas: new(int32(3))}}))
	assert.EqualValues(t, 3, *kinds.Of(kinds.CloneSet).Replicas(&apps.CloneSet{Spec: apps.CloneSetSpec{Replicas: new(int32(3))}}), "internal")
	assert.EqualValues(t, 4, count(&v1beta1.DaemonSet{Status: v1beta1.DaemonSetStatus{DesiredNumberScheduled: 4}}))
	united := &v1beta1.UnitedDeployment{}
	united.Spec.Topology.Subsets = []v1beta1.Subset{{Replicas: new(intstr.FromInt32(2))}, {}, {Replicas: new(intstr.FromInt32(3))}}
	assert.EqualValues(t, 5, count(united))
	united.Spec.Replicas = new(int32(7))
	assert.EqualValues(t, 7, count(united))
}

// keyed are the other tables of workload kinds that are allowed. They map kinds to informers, clients and fields of served versions,
// which this package does not know. Tests beside them compare them with this one.
var keyed = sets.New("controller/workloads.go", "workloadclient/client.go", "kubectl/workload/table.go")

// TestNothingElseListsWorkloadKinds checks the source for a list, map or switch that names two or more kinds.
func TestNothingElseListsWorkloadKinds(t *testing.T) {
	names := sets.New[string]()
	for _, kind := range kinds.All() {
		names.Insert(kind.Kind)
	}
	const root = "../.."
	read := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		relative := filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))
		top, _, _ := strings.Cut(relative, "/")
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (top == "apis" || top == "generated" || top == "registry" || top == "apiserver" || relative == "workload/kinds"):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || keyed.Has(relative):
			return nil
		}
		read++
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if listed := listed(node, names); len(listed) > 1 {
				assert.Failf(t, "a second list of workload kinds", "%s lists %v: ask package kinds", relative, sets.List(listed))
			}
			return true
		})
		return nil
	})
	require.NoError(t, err)
	assert.Greater(t, read, 100, "the source was found")
}

// listed returns the kinds that a list or switch names.
func listed(node ast.Node, names sets.Set[string]) sets.Set[string] {
	found := sets.New[string]()
	switch node.(type) {
	case *ast.CompositeLit, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.GenDecl:
	default:
		return found
	}
	ast.Inspect(node, func(inner ast.Node) bool {
		switch n := inner.(type) {
		case *ast.FuncLit:
			return false
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); err == nil && names.Has(text) {
				found.Insert(text)
			}
		case *ast.StarExpr:
			if selector, ok := n.X.(*ast.SelectorExpr); ok && names.Has(selector.Sel.Name) {
				found.Insert(selector.Sel.Name)
			}
		case *ast.SelectorExpr:
			if of, ok := n.X.(*ast.Ident); ok && of.Name == "kinds" && kindVariable(n.Sel.Name, names) {
				found.Insert(n.Sel.Name)
			}
		}
		return true
	})
	return found
}

func kindVariable(name string, names sets.Set[string]) bool {
	return names.Has(name) || names.Has(strings.TrimPrefix(name, "Advanced"))
}
