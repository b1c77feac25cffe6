package imagelistpulljob

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

// templateHash returns the hash of where and how images are pulled. The images themselves are not part of it. Adding an image
// therefore leaves the other children as they are, and another setting replaces all of them.
func templateHash(list *v1beta1.ImageListPullJob) (string, error) {
	data, err := json.Marshal(list.Spec.ImagePullJobTemplate)
	if err != nil {
		return "", fmt.Errorf("encode the template: %w", err)
	}
	sum := fnv.New32a()
	_, _ = sum.Write(data)
	return rand.SafeEncodeString(strconv.FormatUint(uint64(sum.Sum32()), 10)), nil
}

// plan is what has to be done about the children of a list job. Each child is in keep or in remove. Each image has a child in keep,
// or is in create.
type plan struct {
	// keep holds the child of each image that has one, in the order of the images.
	keep []*v1beta1.ImagePullJob
	// create holds the images without a child. remove holds children without an image, children of another template, and
	// duplicates.
	create []string
	remove []*v1beta1.ImagePullJob
}

// planFor compares a list job with its children. It ignores a child that is being deleted, because the replacement has another name.
// Of duplicates, the oldest child stays. Each pass thus chooses the same one.
func planFor(list *v1beta1.ImageListPullJob, children []*v1beta1.ImagePullJob, hash string) plan {
	children = slices.DeleteFunc(slices.Clone(children), func(child *v1beta1.ImagePullJob) bool { return child.DeletionTimestamp != nil })
	slices.SortFunc(children, func(a, b *v1beta1.ImagePullJob) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	var p plan
	byImage := map[string]*v1beta1.ImagePullJob{}
	for _, child := range children {
		// The hash is compared instead of the spec, because the API fills in defaults.
		fits := child.Labels[pub.ControllerRevisionHashKey] == hash && slices.Contains(list.Spec.Images, child.Spec.Image)
		if !fits || byImage[child.Spec.Image] != nil {
			p.remove = append(p.remove, child)
			continue
		}
		byImage[child.Spec.Image] = child
	}
	for _, image := range list.Spec.Images {
		if child := byImage[image]; child != nil {
			p.keep = append(p.keep, child)
		} else {
			p.create = append(p.create, image)
		}
	}
	return p
}

// child returns the job for one image. It has no TTL: if the job were deleted early, the list job would treat the image as not pulled
// yet. The name is random, so that a replacement can be created while the old child is still being deleted.
func child(list *v1beta1.ImageListPullJob, image, hash string) *v1beta1.ImagePullJob {
	template := list.Spec.ImagePullJobTemplate.DeepCopy()
	template.CompletionPolicy.TTLSecondsAfterFinished = nil
	limitTimeout(template)
	return &v1beta1.ImagePullJob{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: list.Name + "-", Namespace: list.Namespace,
			Labels:          map[string]string{pub.ControllerRevisionHashKey: hash},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(list, kind)},
		},
		Spec: v1beta1.ImagePullJobSpec{Image: image, ImagePullJobTemplate: *template},
	}
}

// limitTimeout lowers the timeout of one attempt to the deadline. The API refuses an ImagePullJob with a longer timeout, but accepts
// such a list job. A timeout that is not set is longer than a short deadline by default.
func limitTimeout(template *v1beta1.ImagePullJobTemplate) {
	deadline := template.CompletionPolicy.ActiveDeadlineSeconds
	if deadline == nil {
		return
	}
	v1beta1.SetDefaults_ImagePullJobTemplate(template) // A template that was read from the API has the defaults already.
	policy := template.PullPolicy
	policy.TimeoutSeconds = new(int32(min(int64(*policy.TimeoutSeconds), *deadline)))
}

// status returns the list job's status from the children that it keeps. A child without a start time is not counted, because its
// controller has not seen it yet. Only children that stay count, so a list that changed does not count images that it no longer has.
func status(list *v1beta1.ImageListPullJob, children []*v1beta1.ImagePullJob, now time.Time) v1beta1.ImageListPullJobStatus {
	// Times in a status have whole seconds.
	moment := metav1.NewTime(now).Rfc3339Copy()
	result := v1beta1.ImageListPullJobStatus{StartTime: list.Status.StartTime, Desired: int32(len(list.Spec.Images))}
	if result.StartTime == nil {
		result.StartTime = &moment
	}
	for _, child := range children {
		of := &child.Status
		// Its empty counts would look like those of a finished job.
		if of.StartTime == nil {
			continue
		}
		if of.Active > 0 {
			result.Active++
		}
		// This is also true for a child that never ends, when all its nodes have answered.
		if of.Desired == of.Failed+of.Succeeded {
			result.Completed++
		}
		if of.Desired == of.Succeeded {
			result.Succeeded++
		}
		if of.Failed > 0 {
			result.FailedImageStatuses = append(result.FailedImageStatuses, v1beta1.FailedImageStatus{
				ImagePullJob: child.Name, Name: child.Spec.Image,
				Message: fmt.Sprintf("Please check for details which nodes failed by 'kubectl get ImagePullJob %s'.", child.Name),
			})
		}
	}
	slices.SortFunc(result.FailedImageStatuses, func(a, b v1beta1.FailedImageStatus) int { return cmp.Compare(a.Name, b.Name) })
	// Children without a start time do not count as completed, so a list with a new child has not ended.
	if list.Spec.CompletionPolicy.Type != v1beta1.CompletionPolicyNever && result.Completed == result.Desired {
		result.CompletionTime = &moment
	}
	return result
}
