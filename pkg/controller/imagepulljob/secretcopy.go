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

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

const (
	sourceKey     = pub.ImagePullJobSourceKey
	referencesKey = pub.ImagePullJobReferencesKey

	// sourceIndex finds copies by their source, referenceIndex by the jobs that use them.
	sourceIndex    = "imagepulljob/source"
	referenceIndex = "imagepulljob/references"

	// suffix is how many digits the name of a copy has behind that of its source, and maxName how long a name may be.
	suffix, maxName = 6, 253
)

func indexSource(obj any) ([]string, error) {
	if secret, ok := obj.(*corev1.Secret); ok && sourceOf(secret) != "" {
		return []string{sourceOf(secret)}, nil
	}
	return nil, nil
}

func indexReferences(obj any) ([]string, error) {
	if secret, ok := obj.(*corev1.Secret); ok {
		return referencesOf(secret.Annotations[referencesKey]), nil
	}
	return nil, nil
}

// sourceOf is the Secret that a copy is made from, as namespace/name, or empty for a Secret that is no copy.
func sourceOf(copied *corev1.Secret) string { return copied.Annotations[sourceKey] }

// referencesOf reads the jobs that use a copy, as namespace/name.
func referencesOf(text string) (jobs []string) {
	for job := range strings.SplitSeq(text, ",") {
		if job = strings.TrimSpace(job); job != "" {
			jobs = append(jobs, job)
		}
	}
	return jobs
}

func refersTo(copied *corev1.Secret, job string) bool {
	return slices.Contains(referencesOf(copied.Annotations[referencesKey]), job)
}

// copyOf returns the copy of a source, or nil. Older releases made one for each job: then it is the one that the job uses, or
// else the first.
func (c *copies) copyOf(source, job string) (*corev1.Secret, error) {
	items, err := c.indexer.ByIndex(sourceIndex, source)
	if err != nil {
		return nil, fmt.Errorf("list pull secrets: %w", err)
	}
	var found []*corev1.Secret
	for _, item := range items {
		if copied, ok := item.(*corev1.Secret); ok && copied.DeletionTimestamp == nil {
			found = append(found, copied)
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	slices.SortFunc(found, func(a, b *corev1.Secret) int { return cmp.Compare(a.Name, b.Name) })
	if i := slices.IndexFunc(found, func(s *corev1.Secret) bool { return refersTo(s, job) }); i >= 0 {
		return found[i], nil
	}
	return found[0], nil
}

// newCopy makes the copy of a source. Its name follows from the source's, so that jobs which copy it at the same time make one.
func newCopy(namespace string, source *corev1.Secret, job string) *corev1.Secret {
	sum := sha256.Sum256([]byte(keyOf(source)))
	name := source.Name[:min(len(source.Name), maxName-1-suffix)]
	copied := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-" + hex.EncodeToString(sum[:])[:suffix]}, Type: source.Type,
	}
	refresh(copied, source, job)
	return copied
}

// refresh makes a copy hold what its source holds, and name the job among those that use it. It changes the object given,
// which the caller owns. Its type cannot change: a source that was made anew with another is copied anew once nobody uses this.
func refresh(copied, source *corev1.Secret, job string) {
	jobs := referencesOf(copied.Annotations[referencesKey])
	copied.Data = maps.Clone(source.Data)
	copied.Labels = maps.Clone(source.Labels)
	copied.Annotations = maps.Clone(source.Annotations)
	delete(copied.Annotations, corev1.LastAppliedConfigAnnotation)
	if copied.Annotations == nil {
		copied.Annotations = map[string]string{}
	}
	copied.Annotations[sourceKey] = keyOf(source)
	copied.Annotations[pub.ImagePullJobModeKey] = string(v1beta1.BatchReferenceMode)
	setReferences(copied, append(jobs, job))
}

func removeReference(copied *corev1.Secret, job string) {
	if !refersTo(copied, job) {
		return
	}
	setReferences(copied, slices.DeleteFunc(referencesOf(copied.Annotations[referencesKey]), func(s string) bool { return s == job }))
}

func setReferences(copied *corev1.Secret, jobs []string) {
	slices.Sort(jobs)
	copied.Annotations[referencesKey] = strings.Join(slices.Compact(jobs), ",")
}
