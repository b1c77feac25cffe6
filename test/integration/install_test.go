//go:build integration

package integration

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/artifacts/helm"
	"kruise.io/kruise/pkg/apis/pub"
)

// ownNamespace is where the chart installs.
const ownNamespace = "kruise-system"

// accounts are our service accounts and their lists of rules.
var accounts = map[string]string{
	"kruise-apiserver": helm.APIServerRules,
	"kruise-manager":   helm.ManagerRules,
	"kruise-daemon":    helm.DaemonRules,
}

// install creates what the chart creates around the programs.
func install(ctx context.Context) error {
	for _, name := range []string{ownNamespace, pub.DaemonConfigNamespace} {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := env.kube.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); existsOr(err) != nil {
			return err
		}
	}
	for account, list := range accounts {
		if err := installAccount(ctx, account, list); err != nil {
			return fmt.Errorf("install service account %s: %w", account, err)
		}
	}
	if err := installRoles(ctx); err != nil {
		return err
	}
	for namespace, name := range map[string]string{
		ownNamespace: "kruise-apiserver", pub.DaemonConfigNamespace: "kruise-apiserver",
		metav1.NamespaceSystem: "extension-apiserver-authentication-reader",
	} {
		binding := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "kruise-apiserver"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects:   subject("kruise-apiserver"),
		}
		if _, err := env.kube.RbacV1().RoleBindings(namespace).Create(ctx, binding, metav1.CreateOptions{}); existsOr(err) != nil {
			return err
		}
	}
	return bind(ctx, "kruise-apiserver-auth-delegator", "system:auth-delegator", "kruise-apiserver")
}

// installRoles creates the apiserver's roles in single namespaces.
func installRoles(ctx context.Context) error {
	for namespace, list := range map[string]string{
		ownNamespace: "apiserver-namespaced", pub.DaemonConfigNamespace: "apiserver-pullsecrets",
	} {
		rules, err := helm.Rules(list)
		if err != nil {
			return err
		}
		if namespace == ownNamespace { // each server here has a ConfigMap of its own
			rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "update"}})
		}
		role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "kruise-apiserver"}, Rules: rules}
		if _, err := env.kube.RbacV1().Roles(namespace).Create(ctx, role, metav1.CreateOptions{}); existsOr(err) != nil {
			return err
		}
	}
	return nil
}

func installAccount(ctx context.Context, name, list string) error {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := env.kube.CoreV1().ServiceAccounts(ownNamespace).Create(ctx, account, metav1.CreateOptions{}); existsOr(err) != nil {
		return err
	}
	rules, err := helm.Rules(list)
	if err != nil {
		return err
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
	if _, err := env.kube.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); existsOr(err) != nil {
		return err
	}
	return bind(ctx, name, name, name)
}

func bind(ctx context.Context, name, role, account string) error {
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   subject(account),
	}
	_, err := env.kube.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
	return existsOr(err)
}

func subject(account string) []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: ownNamespace, Name: account}}
}

func existsOr(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
