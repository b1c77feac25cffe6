package openkruise

import (
	"context"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// editor is a user with the role edit in a namespace.
const editor = "editor"

// BindEditor gives the editor its role in a namespace.
func BindEditor(ctx context.Context, client kubernetes.Interface, namespace string) error {
	_, err := client.RbacV1().RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: editor}, Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: editor}},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
	}, metav1.CreateOptions{})
	return err
}

// Rights returns what the manager, the node agents and the editor may do in each namespace, as "kubectl auth can-i --list" prints it.
func Rights(ctx context.Context, config *rest.Config, system string, namespaces ...string) (map[string][]string, error) {
	all := map[string][]string{}
	account := "system:serviceaccount:" + system + ":"
	for _, user := range []string{account + "kruise-manager", account + "kruise-daemon", editor} {
		config := rest.CopyConfig(config)
		config.Impersonate.UserName = user
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		for _, namespace := range namespaces {
			review, err := client.AuthorizationV1().SelfSubjectRulesReviews().Create(ctx, &authorizationv1.SelfSubjectRulesReview{
				Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace},
			}, metav1.CreateOptions{})
			if err != nil {
				return nil, err
			}
			key := user + " in " + namespace
			for _, rule := range review.Status.ResourceRules {
				all[key] = append(all[key], rule.String())
			}
			// The order is that of the bindings.
			slices.Sort(all[key])
		}
	}
	return all, nil
}
