package imagepulljob

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/pub"
)

const (
	// sourceKey and referencesKey are annotations of a copy. They hold its source, and the jobs that use it, as namespace/name. All
	// that is known of a copy is stored in it, so a restart of the controller loses nothing.
	sourceKey     = pub.ImagePullJobSourceKey
	referencesKey = pub.ImagePullJobReferencesKey

	// sourceIndex finds copies by their source. referenceIndex finds copies by the jobs that use them.
	// namespaceIndex finds copies by the namespace of their source.
	sourceIndex    = "imagepulljob/source"
	namespaceIndex = "imagepulljob/sourceNamespace"
	referenceIndex = "imagepulljob/references"

	// suffix is the number of digits that the name of a copy has after the name of its source. maxName is the maximum length of a
	// name.
	suffix, maxName = 6, 253
)

// indexSource indexes copies by their source. Secrets that are no copies are left out.
func indexSource(obj any) ([]string, error) {
	if secret, ok := obj.(*corev1.Secret); ok && sourceOf(secret) != "" {
		return []string{sourceOf(secret)}, nil
	}
	return nil, nil
}

// indexNamespace indexes copies by the namespace of their source.
func indexNamespace(obj any) ([]string, error) {
	if secret, ok := obj.(*corev1.Secret); ok && sourceOf(secret) != "" {
		return []string{namespaceOf(secret)}, nil
	}
	return nil, nil
}

// indexReferences indexes copies by each job that uses them.
func indexReferences(obj any) ([]string, error) {
	if secret, ok := obj.(*corev1.Secret); ok {
		return referencesOf(secret.Annotations[referencesKey]), nil
	}
	return nil, nil
}

// sourceOf returns the Secret that a copy was made from, as namespace/name. It returns "" if the Secret is no copy.
func sourceOf(copied *corev1.Secret) string { return copied.Annotations[sourceKey] }

// namespaceOf returns the namespace of the source of a copy.
func namespaceOf(copied *corev1.Secret) string {
	namespace, _, _ := strings.Cut(sourceOf(copied), "/")
	return namespace
}

// referencesOf returns the jobs that use a copy, as namespace/name. The text is a list with commas. It may be empty.
func referencesOf(text string) (jobs []string) {
	for job := range strings.SplitSeq(text, ",") {
		if job = strings.TrimSpace(job); job != "" {
			jobs = append(jobs, job)
		}
	}
	return jobs
}

// refersTo reports whether a job uses a copy.
func refersTo(copied *corev1.Secret, job string) bool {
	return slices.Contains(referencesOf(copied.Annotations[referencesKey]), job)
}

// copyOf returns the copy of a source, or nil. Older releases made one copy for each job. Among several copies, it returns the
// one that the job uses, or else the first.
func (c *copies) copyOf(source, job string) (*corev1.Secret, error) {
	items, err := c.indexer.ByIndex(sourceIndex, source)
	if err != nil {
		return nil, fmt.Errorf("list pull secrets: %w", err)
	}
	var found []*corev1.Secret
	for _, item := range items {
		// A copy that is being deleted cannot be used for long.
		if copied, ok := item.(*corev1.Secret); ok && copied.DeletionTimestamp == nil {
			found = append(found, copied)
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	slices.SortFunc(found, func(a, b *corev1.Secret) int { return cmp.Compare(a.Name, b.Name) })
	// A job that already uses a copy stays with it, so the NodeImages need no other reference.
	if i := slices.IndexFunc(found, func(s *corev1.Secret) bool { return refersTo(s, job) }); i >= 0 {
		return found[i], nil
	}
	return found[0], nil
}

// newCopy returns a new copy of a source. Its name is derived from the source's name, so jobs that copy the source at the same time
// create only one copy. The hash of namespace and name keeps sources of the same name in two namespaces apart.
func newCopy(namespace string, source *corev1.Secret, job string) *corev1.Secret {
	sum := sha256.Sum256([]byte(keyOf(source)))
	// The cut must not leave a dot before the hyphen.
	name := strings.TrimRight(source.Name[:min(len(source.Name), maxName-1-suffix)], ".-")
	copied := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-" + hex.EncodeToString(sum[:])[:suffix]}, Type: source.Type,
	}
	refresh(copied, source, job)
	return copied
}

// refresh copies the source's data into the copy, which has the same type, and adds the job to the copy's users. It changes the given
// object, which the caller owns.
func refresh(copied, source *corev1.Secret, job string) {
	// The users are read before the annotations are replaced by those of the source.
	jobs := referencesOf(copied.Annotations[referencesKey])
	copied.Data = maps.Clone(source.Data)
	copied.Labels = maps.Clone(source.Labels)
	copied.Annotations = maps.Clone(source.Annotations)
	// This annotation of kubectl can hold the data of the source. It would be a second copy of the credentials.
	delete(copied.Annotations, corev1.LastAppliedConfigAnnotation)
	if copied.Annotations == nil {
		copied.Annotations = map[string]string{}
	}
	copied.Annotations[sourceKey] = keyOf(source)
	copied.Annotations[pub.ImagePullJobModeKey] = pub.ImagePullJobModeNew
	setReferences(copied, append(jobs, job))
}

// removeReference removes a job from the users of the given copy, which the caller owns.
func removeReference(copied *corev1.Secret, job string) {
	if !refersTo(copied, job) {
		return
	}
	setReferences(copied, slices.DeleteFunc(referencesOf(copied.Annotations[referencesKey]), func(s string) bool { return s == job }))
}

// setReferences writes the users sorted and without duplicates, so an unchanged list is no write.
func setReferences(copied *corev1.Secret, jobs []string) {
	slices.Sort(jobs)
	copied.Annotations[referencesKey] = strings.Join(slices.Compact(jobs), ",")
}
