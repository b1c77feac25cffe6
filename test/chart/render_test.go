package chart

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

const chartDir = "../../artifacts/helm/kruise"

// helm is the path of the real helm, which is built when it is missing.
var helm = sync.OnceValues(func() (string, error) {
	var stderr strings.Builder
	command := exec.Command("../../hack/helm.sh")
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return "", errors.New(stderr.String())
	}
	return strings.TrimSpace(string(out)), nil
})

// chart is read for one purpose: go test remembers which files a test read, and runs it again once one has changed. What helm
// reads it does not see.
var chart = sync.OnceValue(func() error {
	return filepath.WalkDir(chartDir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		_, err = os.ReadFile(path)
		return err
	})
})

// run calls helm and returns its output, and its complaint.
func run(ctx context.Context, t *testing.T, args ...string) (string, error) {
	t.Helper()
	require.NoError(t, chart())
	path, err := helm()
	require.NoError(t, err)
	var stdout, stderr strings.Builder
	command := exec.CommandContext(ctx, path, args...)
	command.Env = append(os.Environ(), "KUBECONFIG=/dev/null", "HOME="+t.TempDir())
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return stdout.String(), errors.New(stderr.String())
	}
	return stdout.String(), nil
}

func template(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return run(t.Context(), t, append([]string{"template", "kruise", chartDir, "--kube-version", "1.36.3"}, args...)...)
}

// objects is an installation, by kind and by namespace/name.
type objects map[string]map[string]*unstructured.Unstructured

func render(t *testing.T, args ...string) objects {
	t.Helper()
	text, err := template(t, args...)
	require.NoError(t, err)
	return decode(t, text)
}

func decode(t *testing.T, text string) objects {
	t.Helper()
	all := objects{}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(text)), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		if len(object.Object) == 0 {
			continue
		}
		kind, name := object.GetKind(), object.GetNamespace()+"/"+object.GetName()
		if all[kind] == nil {
			all[kind] = map[string]*unstructured.Unstructured{}
		}
		require.NotContains(t, all[kind], name, "rendered twice")
		all[kind][name] = object
	}
}

// read returns an object as its type, refusing fields that the type does not have.
func read[T any](t *testing.T, all objects, kind, name string) *T {
	t.Helper()
	require.Contains(t, all[kind], name)
	typed := new(T)
	err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(all[kind][name].Object, typed, true)
	require.NoError(t, err, "%s %s", kind, name)
	return typed
}

// pods returns the Pods of every workload, by its name.
func pods(t *testing.T, all objects) map[string]corev1.PodSpec {
	t.Helper()
	specs := map[string]corev1.PodSpec{}
	for name := range all["Deployment"] {
		deployment := read[appsv1.Deployment](t, all, "Deployment", name)
		specs[deployment.Name] = deployment.Spec.Template.Spec
	}
	for name := range all["DaemonSet"] {
		set := read[appsv1.DaemonSet](t, all, "DaemonSet", name)
		specs[set.Name] = set.Spec.Template.Spec
	}
	return specs
}

// typed are the types of what the chart renders, other than another project's.
var typed = map[string]func(*testing.T, objects, string){
	"Namespace":             check[corev1.Namespace]("Namespace"),
	"ServiceAccount":        check[corev1.ServiceAccount]("ServiceAccount"),
	"PersistentVolumeClaim": check[corev1.PersistentVolumeClaim]("PersistentVolumeClaim"),
	"ConfigMap":             check[corev1.ConfigMap]("ConfigMap"),
	"Service":               check[corev1.Service]("Service"),
	"Deployment":            check[appsv1.Deployment]("Deployment"),
	"DaemonSet":             check[appsv1.DaemonSet]("DaemonSet"),
	"PodDisruptionBudget":   check[policyv1.PodDisruptionBudget]("PodDisruptionBudget"),
	"NetworkPolicy":         check[networkingv1.NetworkPolicy]("NetworkPolicy"),

	"ValidatingAdmissionPolicy":        check[admissionv1.ValidatingAdmissionPolicy]("ValidatingAdmissionPolicy"),
	"ValidatingAdmissionPolicyBinding": check[admissionv1.ValidatingAdmissionPolicyBinding]("ValidatingAdmissionPolicyBinding"),
	"MutatingWebhookConfiguration":     check[admissionv1.MutatingWebhookConfiguration]("MutatingWebhookConfiguration"),
	"ValidatingWebhookConfiguration":   check[admissionv1.ValidatingWebhookConfiguration]("ValidatingWebhookConfiguration"),
	"ClusterRole":                      check[rbacv1.ClusterRole]("ClusterRole"),
	"ClusterRoleBinding":               check[rbacv1.ClusterRoleBinding]("ClusterRoleBinding"),
	"Role":                             check[rbacv1.Role]("Role"),
	"RoleBinding":                      check[rbacv1.RoleBinding]("RoleBinding"),
	"FlowSchema":                       check[flowcontrolv1.FlowSchema]("FlowSchema"),
	"APIService":                       check[apiregistrationv1.APIService]("APIService"),
}

func check[T any](kind string) func(*testing.T, objects, string) {
	return func(t *testing.T, all objects, name string) { read[T](t, all, kind, name) }
}

var externalEtcd = []string{
	"--set", "storage.etcd.endpoints={https://etcd-0:2379,https://etcd-1:2379}", "--set", "storage.etcd.tls.existingSecret=etcd-client",
}

// everything sets what adds objects or fields.
func everything() []string {
	return append([]string{
		"--set", "networkPolicy.enabled=true,apiserver.auditLog.enabled=true,apiService.certManager.enabled=true",
		"--set", "apiserver.hostNetwork=true,manager.hostNetwork=true,daemon.hostNetwork=true,enableKubeCacheMutationDetector=true",
		"--set", "imagePullSecrets[0].name=mine,serviceAccount.annotations.a=b,externalCerts.annotations.c=d",
		"--set", "apiserver.tolerations[0].operator=Exists,manager.nodeSelector.a=b,manager.enablePprof=true,daemon.enablePprof=true",
		"--set", "apiserver.loggingFormat=json,manager.loggingFormat=json,daemon.loggingFormat=json,manager.resyncPeriod=1h",
	}, externalEtcd...)
}

func TestEveryObjectIsWhatItsTypeSays(t *testing.T) {
	tests := map[string][]string{
		"defaults": nil, "everything": everything(), "external etcd": externalEtcd, "1.4 values": {"-f", "testdata/values-1.4.yaml"},
	}
	for name, args := range tests {
		t.Run(name, func(t *testing.T) {
			for kind, named := range render(t, args...) {
				if kind == "Issuer" || kind == "Certificate" {
					continue
				}
				require.Contains(t, typed, kind)
				for name := range named {
					typed[kind](t, objects{kind: named}, name)
				}
			}
		})
	}
}

func TestInstallManifestIsCurrent(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "../../hack/verify-manifests.sh").CombinedOutput()
	assert.NoError(t, err, "%s", out)
}
