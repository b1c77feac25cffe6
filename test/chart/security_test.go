package chart

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"k8s.io/utils/ptr"
)

// violations are what the cluster's own Pod Security admission says of a Pod at the level "restricted".
func violations(t *testing.T, spec corev1.PodSpec) []string {
	t.Helper()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	require.NoError(t, err)
	var forbidden []string
	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	for _, result := range evaluator.EvaluatePod(level, &metav1.ObjectMeta{}, &spec) {
		if !result.Allowed {
			forbidden = append(forbidden, result.ForbiddenReason)
		}
	}
	return forbidden
}

func TestPodSecurity(t *testing.T) {
	tests := map[string]struct {
		args []string
		want map[string][]string
	}{
		"defaults": {nil, map[string][]string{
			"kruise-apiserver":          nil,
			"kruise-controller-manager": nil,
			// The stated exception: the user that owns the runtime's socket, and the folder that the socket is in.
			// Its hooks reach Pods from the node, as the kubelet's do.
			"kruise-daemon": {"host namespaces", "probe or lifecycle host", "restricted volume types", "runAsNonRoot != true", "runAsUser=0"},
		}},
		"in the Pod network": {[]string{"--set", "daemon.hostNetwork=false"}, map[string][]string{
			"kruise-daemon": {"restricted volume types", "runAsNonRoot != true", "runAsUser=0"},
		}},
		"external etcd, cert-manager and audit": {
			append([]string{"--set", "apiService.certManager.enabled=true,apiserver.auditLog.enabled=true"}, externalEtcd...),
			map[string][]string{
				"kruise-apiserver":          nil,
				"kruise-controller-manager": nil,
				"kruise-daemon":             {"host namespaces", "probe or lifecycle host", "restricted volume types", "runAsNonRoot != true", "runAsUser=0"},
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for name, spec := range pods(t, render(t, test.args...)) {
				got := violations(t, spec)
				assert.ElementsMatch(t, test.want[name], got, name)
				for _, container := range spec.Containers {
					assert.True(t, ptr.Deref(container.SecurityContext.ReadOnlyRootFilesystem, false), name)
					assert.False(t, ptr.Deref(container.SecurityContext.AllowPrivilegeEscalation, true), name)
					assert.False(t, ptr.Deref(container.SecurityContext.Privileged, false), name)
					assert.Equal(t, &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}, container.SecurityContext.Capabilities, name)
					assert.NotEmpty(t, container.Resources.Requests, name)
					assert.NotNil(t, container.StartupProbe, name)
					assert.NotNil(t, container.LivenessProbe, name)
					assert.NotNil(t, container.ReadinessProbe, name)
				}
				assert.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, spec.SecurityContext.SeccompProfile.Type, name)
				assert.False(t, spec.HostPID || spec.HostIPC, name)
			}
		})
	}
}

// TestUserOfThePrograms pins the user that the images and the store's volume are made for.
func TestUserOfThePrograms(t *testing.T) {
	specs := pods(t, render(t))
	for name, want := range map[string]int64{"kruise-apiserver": 65532, "kruise-controller-manager": 65532, "kruise-daemon": 0} {
		assert.Equal(t, want, *specs[name].Containers[0].SecurityContext.RunAsUser, name)
	}
	assert.EqualValues(t, 65532, *specs["kruise-apiserver"].SecurityContext.FSGroup)
}

func TestSeccompProfileIsAValue(t *testing.T) {
	for name, spec := range pods(t, render(t, "--set", "seccompProfile=null")) {
		assert.True(t, spec.SecurityContext == nil || spec.SecurityContext.SeccompProfile == nil, name)
	}
}

func TestSecurityContextOfTheAgentIsAValue(t *testing.T) {
	spec := pods(t, render(t, "--set", "daemon.securityContext.privileged=true,daemon.securityContext.allowPrivilegeEscalation=true"))["kruise-daemon"]
	assert.True(t, *spec.Containers[0].SecurityContext.Privileged)
	assert.True(t, *spec.Containers[0].SecurityContext.ReadOnlyRootFilesystem)
}

// rules returns every rule of the installation, by the role's name.
func rules(t *testing.T, all objects) (cluster, namespaced map[string][]rbacv1.PolicyRule) {
	t.Helper()
	cluster, namespaced = map[string][]rbacv1.PolicyRule{}, map[string][]rbacv1.PolicyRule{}
	for name := range all["ClusterRole"] {
		cluster[name] = read[rbacv1.ClusterRole](t, all, "ClusterRole", name).Rules
	}
	for name := range all["Role"] {
		namespaced[name] = read[rbacv1.Role](t, all, "Role", name).Rules
	}
	return cluster, namespaced
}

func TestLeastPrivilege(t *testing.T) {
	cluster, namespaced := rules(t, render(t))
	assert.Len(t, cluster, 11)
	// The sums of the operator's roles: nothing by default.
	for _, sum := range []string{"/kruise-apiserver-custom-resource-reader", "/kruise-apiserver-policy-parameters", "/kruise-workloads-role"} {
		require.Empty(t, cluster[sum])
		delete(cluster, sum)
	}
	assert.Len(t, namespaced, 4)
	requireNarrow(t, cluster)
	requireNarrow(t, namespaced)
	requireNames(t, cluster)
	for name, list := range namespaced {
		if strings.HasPrefix(name, "kruise-daemon-config/") {
			continue // nothing but the Secrets of image pulls is there
		}
		for _, rule := range list {
			// Users name revisions of SidecarSets, which the controllers have made.
			revisions := slices.Equal(rule.Resources, []string{"controllerrevisions"})
			for _, verb := range rule.Verbs {
				read := revisions && (verb == "get" || verb == "list" || verb == "watch")
				assert.True(t, read || verb == "create" || len(rule.ResourceNames) > 0, "%s may %s every object of %v", name, verb, rule.Resources)
			}
		}
	}
}

// requireNames refuses the list of Secrets, except to watch the copies of ResourceDistributions, and changes of every object where the
// programs change their own.
func requireNames(t *testing.T, cluster map[string][]rbacv1.PolicyRule) {
	t.Helper()
	for name, list := range cluster {
		for _, rule := range list {
			// The controllers read a Secret that a job names, and may never ask which there are.
			named := name == "/kruise-manager-secrets-role" && slices.Equal(rule.Resources, []string{"secrets"}) && slices.Equal(rule.Verbs, []string{"get"})
			// RBAC knows no labels, so the role for copies is more than the controllers use. A policy limits its writes.
			copies := name == "/kruise-manager-copies-role"
			assert.True(t, named || copies || !slices.Contains(rule.Resources, "secrets"), name)
			for _, resource := range []string{"apiservices", "validatingwebhookconfigurations", "mutatingwebhookconfigurations"} {
				if slices.Contains(rule.Resources, resource) && slices.Contains(rule.Verbs, "patch") {
					assert.NotEmpty(t, rule.ResourceNames, "%s may change every object of %s", name, resource)
				}
			}
		}
	}
}

// requireNarrow refuses wildcards, and verbs that give away more than they say.
func requireNarrow(t *testing.T, roles map[string][]rbacv1.PolicyRule) {
	t.Helper()
	for name, list := range roles {
		require.NotEmpty(t, list, name)
		for _, rule := range list {
			for _, part := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs} {
				require.NotEmpty(t, part, name)
				assert.NotContains(t, strings.Join(part, " "), "*", name)
			}
			for _, verb := range []string{"escalate", "bind", "impersonate"} {
				assert.NotContains(t, rule.Verbs, verb, name)
			}
		}
	}
}

// The controllers read Secrets where the administrator says so.
func TestSecretsThatTheManagerMayRead(t *testing.T) {
	const role = "kruise-manager-secrets-role"
	tests := map[string]struct {
		args    []string
		cluster bool
		in      []string
	}{
		"everywhere by default": {nil, true, nil},
		"in two namespaces":     {[]string{"--set", "manager.pullSecretNamespaces={shop,bank}"}, false, []string{"shop", "bank"}},
		"nowhere without agent": {[]string{"--set", "featureGates=KruiseDaemon=false"}, false, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			all := render(t, test.args...)
			assert.Equal(t, test.cluster, all["ClusterRole"]["/"+role] != nil)
			assert.Equal(t, test.cluster, all["ClusterRoleBinding"]["/"+role+"binding"] != nil)
			var in []string
			for name := range all["RoleBinding"] {
				if namespace, found := strings.CutSuffix(name, "/"+role+"binding"); found {
					in = append(in, namespace)
					binding := read[rbacv1.RoleBinding](t, all, "RoleBinding", name)
					assert.Equal(t, role, binding.RoleRef.Name)
					assert.Equal(t, []rbacv1.Subject{{Kind: "ServiceAccount", Name: "kruise-manager", Namespace: "kruise-system"}}, binding.Subjects)
				}
			}
			assert.ElementsMatch(t, test.in, in)
			cluster, namespaced := rules(t, all)
			for name, list := range namespaced {
				if strings.HasSuffix(name, "/"+role) {
					assert.Equal(t, []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}}}, list)
				}
			}
			requireNames(t, cluster)
		})
	}
}

// TestWithoutDistributionsNoSecretsAreListed checks the role for copies of ResourceDistributions.
func TestWithoutDistributionsNoSecretsAreListed(t *testing.T) {
	const role = "/kruise-manager-copies-role"
	on, off := render(t), render(t, "--set", "featureGates=ResourceDistributionGate=false")
	for kind, name := range map[string]string{"ClusterRole": role, "ClusterRoleBinding": role + "binding"} {
		assert.NotNil(t, on[kind][name], kind)
		assert.Nil(t, off[kind][name], kind)
	}
}

// TestAPIServicesThatTheServerMayChange are those that the chart makes.
func TestAPIServicesThatTheServerMayChange(t *testing.T) {
	all := render(t)
	var made, granted []string
	for name := range all["APIService"] {
		made = append(made, strings.TrimPrefix(name, "/"))
	}
	for _, rule := range read[rbacv1.ClusterRole](t, all, "ClusterRole", "/kruise-apiserver-role").Rules {
		if slices.Contains(rule.Resources, "apiservices") {
			granted = append(granted, rule.ResourceNames...)
		}
	}
	assert.ElementsMatch(t, made, granted)
}

// TestEveryAccountIsBound refuses a binding to a role or an account that the chart does not make.
func TestEveryAccountIsBound(t *testing.T) {
	all := render(t)
	known := map[string]bool{"system:auth-delegator": true, "extension-apiserver-authentication-reader": true}
	for _, kind := range []string{"ClusterRole", "Role"} {
		for _, object := range all[kind] {
			known[object.GetName()] = true
		}
	}
	bound := map[string]int{}
	for kind, named := range map[string]objects{"ClusterRoleBinding": all, "RoleBinding": all} {
		for name := range named[kind] {
			binding := read[rbacv1.ClusterRoleBinding](t, named, kind, name)
			assert.True(t, known[binding.RoleRef.Name], "%s %s", kind, name)
			for _, subject := range binding.Subjects {
				assert.Contains(t, all["ServiceAccount"], subject.Namespace+"/"+subject.Name)
				bound[subject.Name]++
			}
		}
	}
	assert.Equal(t, map[string]int{"kruise-apiserver": 8, "kruise-manager": 6, "kruise-daemon": 1}, bound)
}

// A job of images reaches every node, so the role edit of one namespace is not enough.
func TestEditorsPullNoImagesByDefault(t *testing.T) {
	jobs := []string{"imagelistpulljobs", "imagepulljobs"}
	for name, allowed := range map[string]bool{"installation.editorsPullImages=false": false, "installation.editorsPullImages=true": true} {
		all := render(t, "--set", name)
		for _, role := range []string{"edit", "admin"} {
			selector := "rbac.authorization.k8s.io/aggregate-to-" + role
			holds := false
			for name, object := range all["ClusterRole"] {
				if object.GetLabels()[selector] != "true" {
					continue
				}
				for _, rule := range read[rbacv1.ClusterRole](t, all, "ClusterRole", name).Rules {
					writes := slices.ContainsFunc(rule.Verbs, func(verb string) bool { return !slices.Contains([]string{"get", "list", "watch"}, verb) })
					holds = holds || writes && slices.ContainsFunc(jobs, func(job string) bool { return slices.Contains(rule.Resources, job) })
				}
			}
			assert.Equal(t, allowed, holds, "%s: %s", name, role)
		}
		assert.ElementsMatch(t, jobs, read[rbacv1.ClusterRole](t, all, "ClusterRole", "/kruise-image-pulls").Rules[0].Resources, "to be bound")
	}
}

// Case install 13.
func TestRolesOfUsers(t *testing.T) {
	all := render(t)
	view := read[rbacv1.ClusterRole](t, all, "ClusterRole", "/kruise-aggregate-to-view")
	edit := read[rbacv1.ClusterRole](t, all, "ClusterRole", "/kruise-aggregate-to-edit")
	const label = "rbac.authorization.k8s.io/aggregate-to-"
	for _, role := range []string{"view", "edit", "admin"} {
		assert.Equal(t, "true", view.Labels[label+role])
	}
	assert.NotContains(t, edit.Labels, label+"view")
	for _, role := range []string{"edit", "admin"} {
		assert.Equal(t, "true", edit.Labels[label+role])
	}
	for _, rule := range view.Rules {
		assert.ElementsMatch(t, []string{"get", "list", "watch"}, rule.Verbs)
	}
	for _, rule := range edit.Rules {
		assert.NotContains(t, rule.Resources, "clonesets/status", "the status is the controller's")
	}
	for _, role := range []*rbacv1.ClusterRole{view, edit} {
		groups := sets.New[string]()
		for _, rule := range role.Rules {
			groups.Insert(rule.APIGroups...)
		}
		assert.Equal(t, sets.New("apps.kruise.io", "policy.kruise.io"), groups)
	}
}
