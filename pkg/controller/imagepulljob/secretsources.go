package imagepulljob

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/passes"
)

// maxCopies limits the copies of the Secrets of one namespace, in bytes. The manager keeps all copies in memory, and each agent
// reads those for its node.
const maxCopies = 256 << 10

// namesOf returns the Secrets that a job uses, each one once. Validation refuses too many, but older jobs may have them.
func namesOf(job *v1beta1.ImagePullJob) (names []string) {
	seen := map[string]bool{}
	for _, name := range job.Spec.PullSecrets {
		if len(names) < pub.MaxPullSecrets && !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

// read reads the Secrets of a namespace. It returns those that hold credentials, and says which cannot be used, both in the order of
// the names.
func (c *copies) read(
	ctx context.Context, namespace string, names []string, first bool,
) (sources []*corev1.Secret, missing []string, err error) {
	options := metav1.GetOptions{}
	if !first {
		options.ResourceVersion = "0" // The cache of the API server shows changes soon enough, and many jobs ask.
	}
	read, problems := make([]*corev1.Secret, len(names)), make([]string, len(names))
	err = passes.Parallel(len(names), passes.Width, func(i int) error {
		source, err := c.kube.CoreV1().Secrets(namespace).Get(ctx, names[i], options)
		switch {
		case apierrors.IsNotFound(err):
			problems[i] = names[i]
		case apierrors.IsForbidden(err): // The administrator limits the namespaces whose Secrets are read.
			problems[i] = names[i] + " (access denied)"
		case err != nil:
			return fmt.Errorf("get Secret %s/%s: %w", namespace, names[i], err)
		case !holdsCredentials(source.Type):
			problems[i] = fmt.Sprintf("%s (type %s does not hold registry credentials)", names[i], source.Type)
		default:
			read[i] = source
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	for i := range names {
		if read[i] != nil {
			sources = append(sources, read[i])
		} else {
			missing = append(missing, problems[i])
		}
	}
	return sources, missing, nil
}

// tooLarge returns a problem if the copies that the job needs would make those of its namespace too large. Copies that exist and do
// not grow are no problem.
func (c *copies) tooLarge(job *v1beta1.ImagePullJob, sources []*corev1.Secret) (string, error) {
	existing, err := c.indexer.ByIndex(namespaceIndex, job.Namespace)
	if err != nil {
		return "", fmt.Errorf("list pull secrets: %w", err)
	}
	sizes, total := map[string]int{}, 0
	for _, item := range existing {
		if copied, ok := item.(*corev1.Secret); ok {
			size := sizeOf(copied)
			sizes[sourceOf(copied)] = size
			total += size
		}
	}
	grows := false
	for _, source := range sources {
		before, after := sizes[keyOf(source)], sizeOf(newCopy(c.namespace, source, keyOf(job)))
		total += after - before
		grows = grows || after > before
	}
	if !grows || total <= maxCopies {
		return "", nil
	}
	return fmt.Sprintf("no pull secret is used, because the copies for the jobs of namespace %s would have %d bytes, and at most %d are "+
		"allowed; use fewer or smaller Secrets", job.Namespace, total, maxCopies), nil
}

// sizeOf returns the size of a copy without what this package and the server write into it.
func sizeOf(copied *corev1.Secret) int {
	plain := corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: copied.Name, Labels: copied.Labels}, Type: copied.Type, Data: copied.Data}
	size := plain.Size()
	for key, value := range copied.Annotations {
		if key != referencesKey {
			size += len(key) + len(value)
		}
	}
	return size
}

// copied returns the Secret of a reference if it is in the namespace of the copies, or nil.
func (c *copies) copied(ref *v1beta1.ReferenceObject) *corev1.Secret {
	item, _, _ := c.indexer.GetByKey(ref.Namespace + "/" + ref.Name) // The indexer cannot fail.
	secret, _ := item.(*corev1.Secret)
	return secret
}

// sourceNamespace returns the namespace of the source of a copy, or "".
func (c *copies) sourceNamespace(ref *v1beta1.ReferenceObject) string {
	if secret := c.copied(ref); secret != nil {
		return namespaceOf(secret)
	}
	return ""
}

// dead reports whether a reference is to a copy that does not exist any more. If the cache lacks a new copy, its job adds the reference
// again.
func (c *copies) dead(ref *v1beta1.ReferenceObject) bool {
	return ref.Namespace == c.namespace && ref.Mode == v1beta1.BatchReferenceMode && c.copied(ref) == nil
}
