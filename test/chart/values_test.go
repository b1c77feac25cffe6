package chart

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

var programs = []string{"kruise-apiserver", "kruise-controller-manager", "kruise-daemon"}

// TestUpstreamValues is case 1 of the installation's contract, as far as templates go; TestNotes has the note.
// Case install 1.
func TestUpstreamValues(t *testing.T) {
	specs := pods(t, render(t, "-f", "testdata/values-1.4.yaml"))
	assert.ElementsMatch(t, programs, slices.Collect(maps.Keys(specs)))
	manager := specs["kruise-controller-manager"].Containers[0]
	assert.True(t, strings.HasPrefix(manager.Image, "kruise.local/controller:"), "another project's program: %s", manager.Image)
	assert.Contains(t, manager.Args, "--v=4")
	assert.Equal(t, "200m", manager.Resources.Limits.Cpu().String())
	assert.Contains(t, specs["kruise-daemon"].Containers[0].Args, "--v=4")
}

// TestKruiseDaemonOff is case 3, as far as templates go.
// Case install 3.
func TestKruiseDaemonOff(t *testing.T) {
	tests := map[string]struct {
		gates string
		want  bool
	}{
		"off":                      {"KruiseDaemon=false", false},
		"off among others":         {`A=true\,KruiseDaemon=false\,B=true`, false},
		"off with spaces":          {`A=true\, KruiseDaemon = False`, false},
		"the last mention wins":    {`KruiseDaemon=false\,KruiseDaemon=true`, true},
		"on":                       {"KruiseDaemon=true", true},
		"another gate is off":      {"OtherKruiseDaemon=false", true},
		"the name starts alike":    {"KruiseDaemonSet=false", true},
		"nothing is said":          {"", true},
		"off, by a short spelling": {"KruiseDaemon=0", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			all := render(t, "--set-string", "featureGates="+test.gates)
			assert.Equal(t, test.want, all["DaemonSet"]["kruise-system/kruise-daemon"] != nil)
			assert.Equal(t, test.want, all["ServiceAccount"]["kruise-system/kruise-daemon"] != nil)
			assert.Equal(t, test.want, all["ClusterRole"]["/kruise-daemon-role"] != nil)
			level := read[corev1.Namespace](t, all, "Namespace", "/kruise-system").Labels["pod-security.kubernetes.io/enforce"]
			assert.Equal(t, map[bool]string{true: "privileged", false: "restricted"}[test.want], level)
		})
	}
}

// TestFeatureGatesReachEveryProgram is case 4, as far as templates go: each program refuses what it does not know.
// Case install 4.
func TestFeatureGatesReachEveryProgram(t *testing.T) {
	for name, spec := range pods(t, render(t, "--set-string", `featureGates=Unknown=true\,Other=false`)) {
		assert.Contains(t, spec.Containers[0].Args, "--feature-gates=Unknown=true,Other=false", name)
	}
}

// TestSocket is case 5.
// Case install 5.
func TestSocket(t *testing.T) {
	for _, prefix := range []string{"daemon", "agent"} {
		spec := pods(t, render(t, "--set", prefix+".socketLocation=/run/k3s,"+prefix+".socketFile=containerd/containerd.sock"))["kruise-daemon"]
		assert.Contains(t, spec.Containers[0].Args, "--socket-file=containerd/containerd.sock")
		assert.Contains(t, spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "run", MountPath: "/hostvarrun", ReadOnly: true})
		paths := map[string]string{}
		for _, volume := range spec.Volumes {
			if volume.HostPath != nil {
				paths[volume.Name] = volume.HostPath.Path
			}
		}
		assert.Equal(t, map[string]string{"run": "/run/k3s"}, paths)
	}
}

// TestCredentialProvider mounts what plugins need, and without them nothing of it.
func TestCredentialProvider(t *testing.T) {
	spec := pods(t, render(t))["kruise-daemon"]
	assert.Len(t, spec.Volumes, 2)
	assert.Len(t, spec.Containers[0].VolumeMounts, 2)

	const values = "agent.credentialProvider.enable=true,agent.credentialProvider.hostPath=/opt/plugins,daemon.credentialProvider.configmap=mine"
	spec = pods(t, render(t, "--set", values+",daemon.credentialProvider.awsCredentialsDir=/etc/aws"))["kruise-daemon"]
	assert.Subset(t, spec.Containers[0].Args, []string{
		"--plugin-config-file=/credential-provider-config/CredentialProviderPlugin.yaml", "--plugin-bin-dir=/credential-provider-plugin",
	})
	assert.Subset(t, spec.Containers[0].VolumeMounts, []corev1.VolumeMount{
		{Name: "credential-provider-config", MountPath: "/credential-provider-config", ReadOnly: true},
		{Name: "credential-provider-plugin", MountPath: "/credential-provider-plugin", ReadOnly: true},
		{Name: "aws-credentials", MountPath: "/root/.aws", ReadOnly: true},
	})
	sources := map[string]string{}
	for _, volume := range spec.Volumes {
		switch {
		case volume.HostPath != nil:
			sources[volume.Name] = volume.HostPath.Path
		case volume.ConfigMap != nil:
			sources[volume.Name] = volume.ConfigMap.Name
		}
	}
	assert.Equal(t, map[string]string{
		"run": "/var/run", "credential-provider-config": "mine", "credential-provider-plugin": "/opt/plugins", "aws-credentials": "/etc/aws",
	}, sources)
}

// TestNamespace is case 6: everything that has a namespace is in the one that was asked for.
// Case install 6.
func TestNamespace(t *testing.T) {
	all := render(t, append(everything(), "--set", "installation.namespace=x")...)
	for kind, named := range all {
		for name, object := range named {
			assert.Contains(t, []string{"", "x", "kube-system", "kruise-daemon-config"}, object.GetNamespace(), "%s %s", kind, name)
			if object.GetNamespace() == "kube-system" {
				assert.Equal(t, "kruise-apiserver-auth-reader", object.GetName())
			}
			for _, namespace := range subjectNamespaces(object.Object) {
				assert.Equal(t, "x", namespace, "%s %s", kind, name)
			}
		}
	}
	assert.Equal(t, "controller-manager", read[corev1.Namespace](t, all, "Namespace", "/x").Labels["control-plane"])
	assert.Contains(t, pods(t, all)["kruise-controller-manager"].Containers[0].Args, "--leader-election-namespace=x")
	text, err := template(t, append(everything(), "--set", "installation.namespace=x")...)
	require.NoError(t, err)
	assert.NotContains(t, text, "kruise-system")
	others := render(t, "--set", "installation.createNamespace=false")["Namespace"]
	assert.Equal(t, []string{"/kruise-daemon-config"}, slices.Collect(maps.Keys(others)), "roles are in it, regardless of how the installation creates its own")
}

// TestImagePullSecrets is case 14.
// Case install 14.
func TestImagePullSecrets(t *testing.T) {
	specs := pods(t, render(t, "--set", "imagePullSecrets[0].name=one,imagePullSecrets[1].name=two"))
	assert.Len(t, specs, 3)
	for name, spec := range specs {
		assert.Equal(t, []corev1.LocalObjectReference{{Name: "one"}, {Name: "two"}}, spec.ImagePullSecrets, name)
	}
}

// TestExtraEnvs is case 16, for each program.
// Case install 16.
func TestExtraEnvs(t *testing.T) {
	for value, name := range map[string]string{
		"daemon": "kruise-daemon", "manager": "kruise-controller-manager", "apiserver": "kruise-apiserver",
	} {
		spec := pods(t, render(t, "--set", value+".extraEnvs[0].name=HTTPS_PROXY,"+value+".extraEnvs[0].value=http://proxy"))[name]
		assert.Contains(t, spec.Containers[0].Env, corev1.EnvVar{Name: "HTTPS_PROXY", Value: "http://proxy"}, name)
	}
}

func TestImages(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string
	}{
		"default":             {nil, "kruise.local/controller:v0.1.0"},
		"registry and tag":    {[]string{"--set", "image.registry=r.example/k,image.tag=v9"}, "r.example/k/controller:v9"},
		"own repository":      {[]string{"--set", "manager.image.repository=r.example/mine,manager.image.tag=v8"}, "r.example/mine:v8"},
		"own tag":             {[]string{"--set", "manager.image.tag=v8,image.tag=v9"}, "kruise.local/controller:v8"},
		"digest":              {[]string{"--set", "manager.image.tag=sha256:ab"}, "kruise.local/controller@sha256:ab"},
		"another program":     {[]string{"--set", "manager.image.repository=r.example/kruise-manager,manager.image.tag=v1.4.0"}, "kruise.local/controller:v0.1.0"},
		"a name that is like": {[]string{"--set", "manager.image.repository=r.example/my-kruise-manager"}, "r.example/my-kruise-manager:v0.1.0"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, pods(t, render(t, test.args...))["kruise-controller-manager"].Containers[0].Image)
		})
	}
}

// TestContradictions refuses, in one message that names the value and the remedy.
func TestContradictions(t *testing.T) {
	etcd := "storage.etcd.endpoints={https://etcd:2379}"
	tests := map[string]struct {
		args []string
		want []string
	}{
		"two apiservers on the embedded store": {
			[]string{"--set", "apiserver.replicas=2"}, []string{"apiserver.replicas is 2", "set storage.etcd.endpoints"},
		},
		"etcd without TLS": {
			[]string{"--set", "storage.etcd.endpoints={http://etcd:2379}", "--set", "storage.etcd.tls.existingSecret=s"},
			[]string{`storage.etcd.endpoints[0] is "http://etcd:2379"`, "https://"},
		},
		"etcd without credentials": {[]string{"--set", etcd}, []string{"storage.etcd.tls.existingSecret is empty", "tls.key"}},
		"credentials without etcd": {
			[]string{"--set", "storage.etcd.tls.existingSecret=s"}, []string{"storage.etcd.endpoints is empty"},
		},
		"two sources of the certificate": {
			[]string{"--set", "apiService.certManager.enabled=true,apiService.caBundle=eA==,apiService.tlsSecret=s"},
			[]string{"apiService.certManager.enabled is true", "choose one"},
		},
		"CA without certificate": {[]string{"--set", "apiService.caBundle=eA=="}, []string{"apiService.tlsSecret is empty"}},
		"certificate without CA": {[]string{"--set", "apiService.tlsSecret=s"}, []string{`apiService.tlsSecret is "s"`, "caBundle is empty"}},
		"a misspelt value":       {[]string{"--set", "apiserver.replica=1"}, []string{"/apiserver", "'replica' not allowed"}},
		"no apiserver":           {[]string{"--set", "apiserver.replicas=0"}, []string{"/apiserver/replicas", "minimum"}},
		"absolute socket file":   {[]string{"--set", "daemon.socketFile=/run/x.sock"}, []string{"/daemon/socketFile"}},
		"plugins at no path": {
			[]string{"--set", "daemon.credentialProvider.enable=true"},
			[]string{`daemon.credentialProvider.hostPath is "credential-provider-plugin"`, "absolute path"},
		},
		"malformed gates":      {[]string{"--set", "featureGates=KruiseDaemon"}, []string{"/featureGates"}},
		"a section taken out":  {[]string{"--set", "serviceAccount=null"}, []string{"missing property 'serviceAccount'"}},
		"no port":              {[]string{"--set", "manager.metrics.port=0"}, []string{"/manager/metrics/port", "minimum"}},
		"no port of the agent": {[]string{"--set", "agent.port=0"}, []string{"/agent/port", "minimum"}},
		"no truth value":       {[]string{"--set", "manager.hostNetwork=maybe"}, []string{"/manager/hostNetwork", "want boolean"}},
		"no log level":         {[]string{"--set", "daemon.log.level=high"}, []string{"/daemon/log/level", "does not match pattern"}},
		"old cluster":          {[]string{"--kube-version", "1.29.5"}, []string{">=1.30.0", "1.29.5"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := template(t, test.args...)
			for _, want := range test.want {
				assert.ErrorContains(t, err, want)
			}
		})
	}
}

// subjectNamespaces returns the namespaces of a binding's subjects.
func subjectNamespaces(object map[string]any) (namespaces []string) {
	subjects, _ := object["subjects"].([]any)
	for _, subject := range subjects {
		namespace, _ := subject.(map[string]any)["namespace"].(string)
		namespaces = append(namespaces, namespace)
	}
	return namespaces
}

// TestReusedValues renders with the values of a chart that did not have the key yet, as an upgrade with --reuse-values does.
func TestReusedValues(t *testing.T) {
	args := pods(t, render(t, "--set", "manager.restConfig=null"))["kruise-controller-manager"].Containers[0].Args
	assert.Contains(t, args, "--rest-config-qps=-1")
	assert.Contains(t, args, "--rest-config-burst=0")
	args = pods(t, render(t, "--set", "manager.restConfig.qps=0"))["kruise-controller-manager"].Containers[0].Args
	assert.Contains(t, args, "--rest-config-qps=0", "the default of the client, and not unlimited")
}

// TestAddressOfTheAgent is where the agent listens, and where the kubelet asks. Both must be the same.
func TestAddressOfTheAgent(t *testing.T) {
	tests := map[string]struct {
		values      string
		hostNetwork bool
		addr, probe string
	}{
		"defaults":                 {"daemon.port=10221", true, "127.0.0.1:10221", "127.0.0.1"},
		"every address":            {"daemon.bindAddress=0.0.0.0", true, "0.0.0.0:10221", ""},
		"every address, IPv6":      {"daemon.bindAddress=::", true, "[::]:10221", ""},
		"loopback, IPv6":           {"daemon.bindAddress=::1", true, "[::1]:10221", "::1"},
		"the address of the node":  {"daemon.bindAddress=$(NODE_ADDRESS)", true, "$(NODE_ADDRESS):10221", ""},
		"the same, IPv6":           {"daemon.bindAddress=[$(NODE_ADDRESS)]", true, "[$(NODE_ADDRESS)]:10221", ""},
		"in the Pod network":       {"daemon.hostNetwork=false", false, ":10221", ""},
		"in the Pod network, port": {"daemon.hostNetwork=false,daemon.port=1", false, ":1", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			spec := pods(t, render(t, "--set", test.values))["kruise-daemon"]
			assert.Equal(t, test.hostNetwork, spec.HostNetwork)
			container := spec.Containers[0]
			assert.Contains(t, container.Args, "--addr="+test.addr)
			for _, probe := range []*corev1.Probe{container.StartupProbe, container.LivenessProbe, container.ReadinessProbe} {
				assert.Equal(t, test.probe, probe.HTTPGet.Host)
			}
			address := slices.IndexFunc(container.Env, func(env corev1.EnvVar) bool { return env.Name == "NODE_ADDRESS" })
			require.GreaterOrEqual(t, address, 0)
			assert.Equal(t, "status.hostIP", container.Env[address].ValueFrom.FieldRef.FieldPath)
			if test.hostNetwork {
				assert.Equal(t, corev1.DNSClusterFirstWithHostNet, spec.DNSPolicy)
			}
		})
	}
	_, err := template(t, "--set", "daemon.hostNetwork=false,daemon.bindAddress=127.0.0.1")
	require.ErrorContains(t, err, "leave bindAddress empty")
	_, err = template(t, "--set", "daemon.bindAddress=a b")
	require.ErrorContains(t, err, "bindAddress")
}

// Windows nodes have no agent, so they must not count in the rollout of the agents.
func TestAgentRunsOnLinuxOnly(t *testing.T) {
	for _, values := range []string{"daemon.port=10221", "daemon.affinity.nodeAffinity=null"} {
		assert.Equal(t, "linux", pods(t, render(t, "--set", values))["kruise-daemon"].NodeSelector["kubernetes.io/os"])
	}
}
