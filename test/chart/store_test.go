package chart

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"kruise.io/kruise/pkg/controller/reviewendpoints"
)

const (
	apiserver = "kruise-system/kruise-apiserver"
	keep      = "helm.sh/resource-policy"
)

// TestStoreMode: an embedded store has one apiserver, which is replaced and never doubled, and no budget, or a drain would
// never end; an external etcd has two with a budget.
func TestStoreMode(t *testing.T) {
	one := append([]string{"--set", "apiserver.replicas=1"}, externalEtcd...)
	tests := map[string]struct {
		args         []string
		wantReplicas int32
		wantStrategy appsv1.DeploymentStrategyType
		wantBudget   bool
		wantClaim    bool
		wantArg      string
		wantMissing  string
	}{
		"embedded":              {nil, 1, appsv1.RecreateDeploymentStrategyType, false, true, "--data-dir=/var/lib/kruise/store", "--etcd"},
		"external":              {externalEtcd, 2, appsv1.RollingUpdateDeploymentStrategyType, true, false, "--etcd-servers=https://etcd-0:2379,https://etcd-1:2379", "--data-dir"},
		"external, one replica": {one, 1, appsv1.RollingUpdateDeploymentStrategyType, false, false, "--etcd-cafile=/etc/kruise/etcd/ca.crt", "--data-dir"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			all := render(t, test.args...)
			deployment := read[appsv1.Deployment](t, all, "Deployment", apiserver)
			assert.Equal(t, test.wantReplicas, *deployment.Spec.Replicas)
			assert.Equal(t, test.wantStrategy, deployment.Spec.Strategy.Type)
			assert.Equal(t, test.wantBudget, all["PodDisruptionBudget"][apiserver] != nil)
			assert.Equal(t, test.wantClaim, all["PersistentVolumeClaim"]["kruise-system/kruise-apiserver-data"] != nil)
			args := deployment.Spec.Template.Spec.Containers[0].Args
			assert.Contains(t, args, test.wantArg)
			for _, arg := range args {
				assert.NotContains(t, arg, test.wantMissing)
			}
		})
	}
}

// TestMove: one apiserver runs, and only after the copy. It stops before it starts again, because a copy needs a store that nobody
// writes.
func TestMove(t *testing.T) {
	tests := map[string]struct {
		wantCopy, wantServer []string
		wantClaim            bool
	}{
		"toEtcd": {
			[]string{"--from-data-dir=/var/lib/kruise/store", "--etcd-servers=https://etcd-0:2379,https://etcd-1:2379"},
			[]string{"--etcd-servers=https://etcd-0:2379,https://etcd-1:2379"}, false,
		},
		"toEmbedded": {
			[]string{"--from-etcd-servers=https://etcd-0:2379,https://etcd-1:2379", "--from-etcd-keyfile=/etc/kruise/etcd/tls.key", "--data-dir=/var/lib/kruise/store"},
			[]string{"--data-dir=/var/lib/kruise/store"}, true,
		},
	}
	for move, test := range tests {
		t.Run(move, func(t *testing.T) {
			all := render(t, append([]string{"--set", "storage.move=" + move}, externalEtcd...)...)
			deployment := read[appsv1.Deployment](t, all, "Deployment", apiserver)
			assert.Equal(t, int32(1), *deployment.Spec.Replicas)
			assert.Equal(t, appsv1.RecreateDeploymentStrategyType, deployment.Spec.Strategy.Type)
			spec := deployment.Spec.Template.Spec
			require.Len(t, spec.InitContainers, 1)
			assert.Equal(t, []string{"store", "copy"}, spec.InitContainers[0].Args[:2])
			assert.Subset(t, spec.InitContainers[0].Args, test.wantCopy)
			assert.Subset(t, spec.Containers[0].Args, test.wantServer)
			assert.Equal(t, test.wantClaim, all["PersistentVolumeClaim"]["kruise-system/kruise-apiserver-data"] != nil)
			mounted := map[string]bool{}
			for _, volume := range spec.Volumes {
				mounted[volume.Name] = true
			}
			for _, container := range append(spec.InitContainers, spec.Containers...) {
				for _, mount := range container.VolumeMounts {
					assert.True(t, mounted[mount.Name], "%s mounts %s", container.Name, mount.Name)
				}
			}
		})
	}
}

// TestEncryptionAtRest: the Secret is mounted, and read again when it changes.
func TestEncryptionAtRest(t *testing.T) {
	spec := pods(t, render(t, "--set", "storage.encryption.existingSecret=keys"))["kruise-apiserver"]
	assert.Subset(t, spec.Containers[0].Args, []string{
		"--encryption-provider-config=/etc/kruise/encryption/config.yaml", "--encryption-provider-config-automatic-reload",
	})
	assert.Contains(t, spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "encryption", MountPath: "/etc/kruise/encryption", ReadOnly: true})
	assert.Contains(t, spec.Volumes, corev1.Volume{Name: "encryption", VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: "keys"},
	}})
}

// Case install 10.
// TestStoreOutlivesTheRelease: the claim is kept by "helm uninstall", and so is the namespace that it is in.
func TestStoreOutlivesTheRelease(t *testing.T) {
	all := render(t)
	claim := read[corev1.PersistentVolumeClaim](t, all, "PersistentVolumeClaim", "kruise-system/kruise-apiserver-data")
	assert.Equal(t, "keep", claim.Annotations[keep])
	assert.Equal(t, "keep", read[corev1.Namespace](t, all, "Namespace", "/kruise-system").Annotations[keep])
	external := render(t, externalEtcd...)
	assert.Equal(t, "keep", read[corev1.Namespace](t, external, "Namespace", "/kruise-system").Annotations[keep], "the store's record is in it")
	spec := pods(t, all)["kruise-apiserver"]
	assert.Contains(t, spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "data", MountPath: "/var/lib/kruise"})

	own := render(t, "--set", "storage.embedded.persistentVolumeClaim.existingClaim=mine")
	assert.Empty(t, own["PersistentVolumeClaim"])
	var claims []string
	for _, volume := range pods(t, own)["kruise-apiserver"].Volumes {
		if volume.PersistentVolumeClaim != nil {
			claims = append(claims, volume.PersistentVolumeClaim.ClaimName)
		}
	}
	assert.Equal(t, []string{"mine"}, claims)
}

// TestDeletingTheManifestKeepsTheStore: what "kubectl delete -f" takes has neither the namespace nor the claim, and together with
// the file that has them it is what the chart installs.
func TestDeletingTheManifestKeepsTheStore(t *testing.T) {
	files := map[string]objects{}
	for _, name := range []string{"store.yaml", "install.yaml"} {
		data, err := os.ReadFile("../../artifacts/" + name)
		require.NoError(t, err)
		files[name] = decode(t, string(data))
	}
	assert.NotContains(t, files["install.yaml"], "PersistentVolumeClaim")
	assert.NotContains(t, files["install.yaml"]["Namespace"], "/kruise-system")
	assert.Len(t, files["store.yaml"], 3)
	for kind, named := range render(t) {
		for name, object := range named {
			file := "install.yaml"
			if files["store.yaml"][kind][name] != nil {
				file = "store.yaml"
			}
			require.NotNil(t, files[file][kind][name], "%s %s", kind, name)
			assert.Equal(t, object.Object, files[file][kind][name].Object, "%s %s", kind, name)
		}
	}
}

// TestReviewsReachAnUnreadyServer: the APIService of reviews has a Service that leads to Pods that are not ready.
func TestReviewsReachAnUnreadyServer(t *testing.T) {
	all := render(t)
	for name := range all["APIService"] {
		service := read[apiregistrationv1.APIService](t, all, "APIService", name).Spec.Service
		backend := read[corev1.Service](t, all, "Service", service.Namespace+"/"+service.Name)
		assert.Equal(t, name == "/v1.admission.kruise.io", backend.Spec.PublishNotReadyAddresses, name)
		// The controller manager sets the label of Pods that do not work to false.
		_, labelled := backend.Spec.Selector[reviewendpoints.Key]
		assert.Equal(t, backend.Spec.PublishNotReadyAddresses, labelled)
		assert.Subset(t, read[appsv1.Deployment](t, all, "Deployment", "kruise-system/kruise-apiserver").Spec.Template.Labels, backend.Spec.Selector)
		assert.Equal(t, pods(t, all)["kruise-apiserver"].Containers[0].Ports[0].Name, backend.Spec.Ports[0].TargetPort.StrVal)
	}
}

// TestMemoryLimitReachesThePrograms is what their heaps and the quota of the embedded store go by.
func TestMemoryLimitReachesThePrograms(t *testing.T) {
	limit := func(program string, args ...string) *corev1.ResourceFieldSelector {
		for _, variable := range pods(t, render(t, args...))[program].Containers[0].Env {
			if variable.Name == "MEMORY_LIMIT" {
				return variable.ValueFrom.ResourceFieldRef
			}
		}
		return nil
	}
	for program, values := range map[string]string{"kruise-apiserver": "apiserver", "kruise-controller-manager": "manager", "kruise-daemon": "daemon"} {
		assert.Equal(t, &corev1.ResourceFieldSelector{Resource: "limits.memory"}, limit(program), program)
		assert.Nil(t, limit(program, "--set", values+".resources.limits.memory=null"), "%s: the node's memory is no limit", program)
	}
}

func TestBudgetsSelectTheirPods(t *testing.T) {
	all := render(t, externalEtcd...)
	assert.Len(t, all["PodDisruptionBudget"], 2)
	for name := range all["PodDisruptionBudget"] {
		budget := read[policyv1.PodDisruptionBudget](t, all, "PodDisruptionBudget", name)
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		require.NoError(t, err)
		for other := range all["Deployment"] {
			template := read[appsv1.Deployment](t, all, "Deployment", other).Spec.Template
			assert.Equal(t, name == other, selector.Matches(labels.Set(template.Labels)), "%s and the Pods of %s", name, other)
		}
	}
	assert.Empty(t, render(t, "--set", "manager.replicas=1")["PodDisruptionBudget"])
}

func TestServiceLeadsToTheServer(t *testing.T) {
	for _, args := range [][]string{nil, {"--set", "apiserver.port=10443,apiserver.hostNetwork=true"}} {
		all := render(t, args...)
		service := read[corev1.Service](t, all, "Service", apiserver)
		template := read[appsv1.Deployment](t, all, "Deployment", apiserver).Spec.Template
		assert.True(t, labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(template.Labels)))
		port := template.Spec.Containers[0].Ports[0]
		assert.Equal(t, port.Name, service.Spec.Ports[0].TargetPort.StrVal)
		assert.EqualValues(t, 443, service.Spec.Ports[0].Port)
		assert.Equal(t, args != nil, template.Spec.HostNetwork)
		assert.Equal(t, map[bool]int32{false: 6443, true: 10443}[args != nil], port.ContainerPort)
	}
}

// TestTrust checks that the issuer of the certificate also sets the trust of the cluster. A self-managed one leaves caBundle alone,
// so that neither "helm upgrade" nor "kubectl apply" undoes what the apiserver wrote.
func TestTrust(t *testing.T) {
	tests := map[string]struct {
		args         []string
		wantCA       string
		wantInjected string
		wantSecret   string
	}{
		"self-managed": {},
		"cert-manager": {
			args: []string{"--set", "apiService.certManager.enabled=true"}, wantInjected: "kruise-system/kruise-apiserver", wantSecret: "kruise-apiserver-tls",
		},
		"own": {args: []string{"--set", "apiService.caBundle=eA==,apiService.tlsSecret=mine"}, wantCA: "x", wantSecret: "mine"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			all := render(t, test.args...)
			priorities := map[string]int32{
				"/v1alpha1.apps.kruise.io": 210, "/v1beta1.apps.kruise.io": 220, "/v1alpha1.policy.kruise.io": 210,
				"/v1beta1.policy.kruise.io": 220, "/v1.admission.kruise.io": 220,
			}
			assert.Len(t, all["APIService"], len(priorities))
			for name, priority := range priorities {
				service := read[apiregistrationv1.APIService](t, all, "APIService", name)
				assert.Equal(t, test.wantCA, string(service.Spec.CABundle))
				assert.Equal(t, test.wantInjected, service.Annotations["cert-manager.io/inject-ca-from"])
				assert.False(t, service.Spec.InsecureSkipTLSVerify)
				assert.Equal(t, priority, service.Spec.VersionPriority)
				assert.EqualValues(t, 1000, service.Spec.GroupPriorityMinimum)
				assert.Equal(t, name, "/"+service.Spec.Version+"."+service.Spec.Group)
			}
			_, says := all["APIService"]["/v1beta1.apps.kruise.io"].Object["spec"].(map[string]any)["caBundle"]
			assert.Equal(t, test.wantCA != "", says)
			spec := pods(t, all)["kruise-apiserver"]
			var secrets []string
			for _, volume := range spec.Volumes {
				if volume.Secret != nil {
					secrets = append(secrets, volume.Secret.SecretName)
				}
			}
			if test.wantSecret == "" {
				assert.Empty(t, secrets)
				assert.NotContains(t, spec.Containers[0].Args, "--tls-cert-file=/etc/kruise/tls/tls.crt")
				return
			}
			assert.Equal(t, []string{test.wantSecret}, secrets)
			assert.Contains(t, spec.Containers[0].Args, "--tls-cert-file=/etc/kruise/tls/tls.crt")
		})
	}
	own := render(t, "--set", "apiService.certManager.enabled=true,apiService.certManager.issuerRef.kind=ClusterIssuer,apiService.certManager.issuerRef.name=mine")
	assert.Empty(t, own["Issuer"])
	assert.Len(t, own["Certificate"], 1)
}
