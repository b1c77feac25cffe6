//go:build bench

package main

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// ordinaryName is the name of the ServiceAccount, the Role and the RoleBinding of an ordinary user.
const ordinaryName = "ordinary"

// ordinaryUser returns the configuration of a user who may read and write the measured kinds in one namespace.
func (b *bench) ordinaryUser(ctx context.Context, namespace string) (*rest.Config, error) {
	core, meta := b.core.CoreV1(), metav1.ObjectMeta{Name: ordinaryName}
	_, err := core.ServiceAccounts(namespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{})
	if err := unlessExists(err); err != nil {
		return nil, err
	}
	verbs := []string{"create", "get", "list", "watch", "patch", "update", "delete"}
	_, err = b.core.RbacV1().Roles(namespace).Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"apps.kruise.io"}, Resources: []string{"clonesets"}, Verbs: verbs},
		{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: verbs},
		{APIGroups: []string{customGroup}, Resources: []string{customPlural}, Verbs: verbs},
	}}, metav1.CreateOptions{})
	if err := unlessExists(err); err != nil {
		return nil, err
	}
	_, err = b.core.RbacV1().RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: ordinaryName},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: ordinaryName, Namespace: namespace}},
	}, metav1.CreateOptions{})
	if err := unlessExists(err); err != nil {
		return nil, err
	}
	token, err := core.ServiceAccounts(namespace).CreateToken(ctx, ordinaryName, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	config := rest.AnonymousClientConfig(b.config)
	config.BearerToken, config.QPS = token.Status.Token, -1
	return config, b.waitForRole(ctx, config, namespace)
}

func unlessExists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// waitForRole waits until kube-apiserver knows the Role.
func (b *bench) waitForRole(ctx context.Context, config *rest.Config, namespace string) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := client.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{Limit: 1})
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait until the Role of %s is in effect: %w", ordinaryName, err)
	}
	return nil
}

// inProtobuf returns the configuration for a client that sends and receives protobuf.
func inProtobuf(config *rest.Config) *rest.Config {
	protobuf := rest.CopyConfig(config)
	protobuf.ContentType = "application/vnd.kubernetes.protobuf"
	protobuf.AcceptContentTypes = protobuf.ContentType + ",application/json"
	return protobuf
}
