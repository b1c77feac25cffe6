package polymorphic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/describe"
	helpers "k8s.io/kubectl/pkg/polymorphichelpers"

	"kruise.io/kruise/pkg/kubectl/cluster"
	"kruise.io/kruise/pkg/kubectl/workload"
	"kruise.io/kruise/pkg/workload/history"
)

var errNoRevision = errors.New("unable to find the specified revision")

// revisions reads and restores the revisions of one kind. It implements the interfaces of kubectl for history and
// undo.
type revisions struct {
	core    kubernetes.Interface
	objects dynamic.NamespaceableResourceInterface
}

// newRevisions connects to the cluster, in the version that kubectl has found for the kind.
func newRevisions(getter genericclioptions.RESTClientGetter, mapping *meta.RESTMapping) (*revisions, error) {
	config, err := getter.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	core, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &revisions{core: core, objects: client.Resource(mapping.Resource)}, nil
}

// historyViewerFor returns the function that kubectl calls for rollout history.
func historyViewerFor(other helpers.HistoryViewerFunc) helpers.HistoryViewerFunc {
	return func(getter genericclioptions.RESTClientGetter, mapping *meta.RESTMapping) (helpers.HistoryViewer, error) {
		if rowFor(mapping) == nil {
			return other(getter, mapping)
		}
		return newRevisions(getter, mapping)
	}
}

// rollbackerFor returns the function that kubectl calls for rollout undo.
func rollbackerFor(other helpers.RollbackerFunc) helpers.RollbackerFunc {
	return func(getter genericclioptions.RESTClientGetter, mapping *meta.RESTMapping) (helpers.Rollbacker, error) {
		if rowFor(mapping) == nil {
			return other(getter, mapping)
		}
		return newRevisions(getter, mapping)
	}
}

// get reads a workload and its revisions, the oldest first.
func (r *revisions) get(ctx context.Context, namespace, name string) (*workload.Workload, []*appsv1.ControllerRevision, error) {
	object, err := r.objects.Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, nil, err
	}
	w, err := workload.Of(object)
	if err != nil {
		return nil, nil, err
	}
	all, err := cluster.Revisions(ctx, r.core, w)
	return w, all, err
}

// ViewHistory implements kubectl's HistoryViewer. Revision zero lists all; another one prints its Pod template.
func (r *revisions) ViewHistory(namespace, name string, revision int64) (string, error) {
	_, all, err := r.get(context.TODO(), namespace, name) //nolint:forbidigo // kubectl's interface has no context.
	if err != nil {
		return "", err
	}
	if len(all) == 0 {
		return "No rollout history found.", nil
	}
	if revision == 0 {
		return listed(all)
	}
	found := find(all, revision)
	if found == nil {
		return "", errNoRevision
	}
	template, err := history.Template(found)
	if err != nil {
		return "", err
	}
	return described(template), nil
}

// GetHistory implements kubectl's HistoryViewer. Each revision is the workload with the Pod template of the revision.
func (r *revisions) GetHistory(namespace, name string) (map[int64]runtime.Object, error) {
	w, all, err := r.get(context.TODO(), namespace, name) //nolint:forbidigo // kubectl's interface has no context.
	if err != nil {
		return nil, err
	}
	objects := make(map[int64]runtime.Object, len(all))
	// kubectl prints each object with -o.
	for _, revision := range all {
		template, err := stored(revision)
		if err != nil {
			return nil, err
		}
		objects[revision.Revision], err = w.WithTemplate(template)
		if err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// Rollback implements kubectl's Rollbacker. It replaces the whole Pod template, so that nothing that was added since
// remains. If the template is the wanted one already, it writes nothing.
func (r *revisions) Rollback(object runtime.Object, _ map[string]string, number int64, dryRun cmdutil.DryRunStrategy) (string, error) {
	ctx := context.TODO() //nolint:forbidigo // kubectl's interface has no context.
	accessor, err := meta.Accessor(object)
	if err != nil {
		return "", err
	}
	w, all, err := r.get(ctx, accessor.GetNamespace(), accessor.GetName())
	if err != nil {
		return "", err
	}
	target, err := Target(w, all, number)
	if err != nil {
		return "", err
	}
	template, err := history.Template(target)
	if err != nil {
		return "", err
	}
	// kubectl prints this text for a dry run of a Deployment too.
	if dryRun == cmdutil.DryRunClient {
		return fmt.Sprintf("will roll back to %s", described(template)), nil
	}
	current, err := w.PodTemplate()
	if err != nil {
		return "", err
	}
	if apiequality.Semantic.DeepEqual(current, template) {
		return fmt.Sprintf("skipped rollback (current template already matches revision %d)", target.Revision), nil
	}
	patch, err := Restoring(w, target)
	if err != nil {
		return "", err
	}
	options := metav1.PatchOptions{FieldManager: "kubectl-rollout"}
	if dryRun == cmdutil.DryRunServer {
		options.DryRun = []string{metav1.DryRunAll}
	}
	if _, err := r.objects.Namespace(w.GetNamespace()).Patch(ctx, w.GetName(), types.JSONPatchType, patch, options); err != nil {
		return "", fmt.Errorf("failed restoring revision %d: %w", target.Revision, err)
	}
	return "rolled back", nil
}

// Target returns the revision of a workload to roll back to: the one with the number, or the last but one for zero. all must be
// sorted, the oldest first.
func Target(w *workload.Workload, all []*appsv1.ControllerRevision, number int64) (*appsv1.ControllerRevision, error) {
	switch {
	case number == 0 && len(all) < 2:
		return nil, errors.New(w.Texts.NoRevision)
	case number == 0:
		return all[len(all)-2], nil
	}
	if found := find(all, number); found != nil {
		return found, nil
	}
	return nil, fmt.Errorf("unable to find specified revision %d in history", number)
}

// Restoring returns the JSON patch that brings a workload back to a revision. It fails if the workload was replaced
// by another one of the same name. It uses the stored template with all its fields, also those that this program does
// not know.
func Restoring(w *workload.Workload, revision *appsv1.ControllerRevision) ([]byte, error) {
	template, err := stored(revision)
	if err != nil {
		return nil, err
	}
	return json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": w.GetUID()},
		{"op": "replace", "path": "/" + strings.ReplaceAll(w.TemplatePath(), ".", "/"), "value": template},
	})
}

// stored returns the Pod template of a revision with all its fields.
func stored(revision *appsv1.ControllerRevision) (map[string]any, error) {
	data := map[string]any{}
	if err := json.Unmarshal(revision.Data.Raw, &data); err != nil {
		return nil, fmt.Errorf("decode revision %s: %w", revision.Name, err)
	}
	template, found, err := unstructured.NestedMap(data, "spec", "template")
	if err != nil || !found {
		return nil, fmt.Errorf("revision %s has no Pod template", revision.Name)
	}
	// A stored revision is a patch of the workload. This directive would make it replace the template, and is no
	// field.
	delete(template, "$patch")
	return template, nil
}

// find returns the revision with a number, or nil.
func find(all []*appsv1.ControllerRevision, number int64) *appsv1.ControllerRevision {
	for _, revision := range all {
		if revision.Revision == number {
			return revision
		}
	}
	return nil
}

// listed returns the table of revisions, in the form of kubectl's history.
func listed(all []*appsv1.ControllerRevision) (string, error) {
	out := &strings.Builder{}
	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprint(table, "REVISION\tCHANGE-CAUSE\n")
	for _, revision := range all {
		cause := revision.Annotations[helpers.ChangeCauseAnnotation]
		if cause == "" {
			cause = "<none>"
		}
		_, _ = fmt.Fprintf(table, "%d\t%s\n", revision.Revision, cause)
	}
	err := table.Flush()
	return out.String(), err
}

// described returns a Pod template in the form of kubectl's describe.
func described(template *corev1.PodTemplateSpec) string {
	out := &strings.Builder{}
	describe.DescribePodTemplate(template, describe.NewPrefixWriter(out))
	return out.String()
}
