package openkruise

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// UnknownRevisions returns the revisions of Kruise's workloads that OpenKruise's manager would take for older ones than those that it makes
// for the same templates: it compares bytes, and writes "creationTimestamp":null into the metadata of each template.
func UnknownRevisions(ctx context.Context, client kubernetes.Interface, namespace string) ([]string, error) {
	list, err := client.AppsV1().ControllerRevisions(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var unknown []string
	for i := range list.Items {
		revision := &list.Items[i]
		ofKruise := func(owner metav1.OwnerReference) bool { return strings.HasPrefix(owner.APIVersion, "apps.kruise.io/") }
		if !slices.ContainsFunc(revision.OwnerReferences, ofKruise) {
			continue
		}
		var data any
		if err := json.Unmarshal(revision.Data.Raw, &data); err != nil {
			return nil, fmt.Errorf("revision %s: %w", revision.Name, err)
		}
		if !known(data) {
			unknown = append(unknown, revision.OwnerReferences[0].Kind+" "+revision.Name)
		}
	}
	return unknown, nil
}

// known returns true if the metadata of each template has the null.
func known(data any) bool {
	switch data := data.(type) {
	case map[string]any:
		for name, value := range data {
			if metadata, ok := value.(map[string]any); ok && name == "metadata" {
				if created, found := metadata["creationTimestamp"]; !found || created != nil {
					return false
				}
			} else if !known(value) {
				return false
			}
		}
	case []any:
		return !slices.ContainsFunc(data, func(each any) bool { return !known(each) })
	}
	return true
}
