package v1alpha1

import (
	"encoding/json"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/pub"
)

// +k8s:deepcopy-gen=false
// +k8s:openapi-gen=false
// +protobuf=false
//
// syncedStatus is an item of the annotation of containers' statuses.
type syncedStatus struct {
	Name         string `json:"name"`
	Ready        bool   `json:"ready"`
	RestartCount int32  `json:"restartCount"`
	ContainerID  string `json:"containerID,omitempty"`
}

// +k8s:deepcopy-gen=false
// +k8s:openapi-gen=false
// +protobuf=false
//
// keptContainerRecreateRequest contains the conditions, except for the one that v1alpha1 has as an
// annotation. It is used only while that annotation has not changed.
type keptContainerRecreateRequest struct {
	UnreadyAcquired string             `json:"unreadyAcquired,omitempty"`
	Conditions      []metav1.Condition `json:"conditions"`
}

// Convert_v1alpha1_ContainerRecreateRequest_To_apps_ContainerRecreateRequest converts two annotations to
// status. Invalid values are dropped.
func Convert_v1alpha1_ContainerRecreateRequest_To_apps_ContainerRecreateRequest(
	in *ContainerRecreateRequest, out *apps.ContainerRecreateRequest, s conversion.Scope,
) error {
	if err := autoConvert_v1alpha1_ContainerRecreateRequest_To_apps_ContainerRecreateRequest(in, out, s); err != nil {
		return err
	}
	if text, found := out.Annotations[pub.ContainerRecreateRequestSyncContainerStatusesKey]; found {
		out.Status.ContainerStatusSnapshot = snapshotOf(text)
		out.Annotations = without(out.Annotations, pub.ContainerRecreateRequestSyncContainerStatusesKey)
	}
	acquired, found := out.Annotations[pub.ContainerRecreateRequestUnreadyAcquiredKey]
	if found {
		out.Status.Conditions = graceSince(acquired)
		out.Annotations = without(out.Annotations, pub.ContainerRecreateRequestUnreadyAcquiredKey)
	}
	kept := keptContainerRecreateRequest{}
	if out.Annotations, found = takeKept(out.Annotations, &kept); found && kept.UnreadyAcquired == acquired {
		out.Status.Conditions = kept.Conditions
	}
	return nil
}

// Convert_apps_ContainerRecreateRequest_To_v1alpha1_ContainerRecreateRequest is the inverse.
func Convert_apps_ContainerRecreateRequest_To_v1alpha1_ContainerRecreateRequest(
	in *apps.ContainerRecreateRequest, out *ContainerRecreateRequest, s conversion.Scope,
) error {
	if err := autoConvert_apps_ContainerRecreateRequest_To_v1alpha1_ContainerRecreateRequest(in, out, s); err != nil {
		return err
	}
	if statuses := in.Status.ContainerStatusSnapshot; len(statuses) > 0 {
		text, err := textOf(statuses)
		if err != nil {
			return err
		}
		out.Annotations = with(out.Annotations, pub.ContainerRecreateRequestSyncContainerStatusesKey, text)
	}
	acquired := ""
	for i := range in.Status.Conditions {
		if condition := &in.Status.Conditions[i]; isGrace(condition) {
			acquired = condition.LastTransitionTime.UTC().Format(time.RFC3339)
			out.Annotations = with(out.Annotations, pub.ContainerRecreateRequestUnreadyAcquiredKey, acquired)
		}
	}
	if apiequality.Semantic.DeepEqual(graceSince(acquired), in.Status.Conditions) {
		return nil
	}
	var err error
	out.Annotations, err = withKept(out.Annotations, keptContainerRecreateRequest{UnreadyAcquired: acquired, Conditions: in.Status.Conditions})
	return err
}

func isGrace(condition *metav1.Condition) bool {
	return condition.Type == apps.ContainerRecreateRequestConditionPreRecreateGrace && condition.Status == metav1.ConditionTrue
}

// graceSince returns the conditions for the annotation, or nil if it is not a time.
func graceSince(text string) []metav1.Condition {
	acquired, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return nil
	}
	return []metav1.Condition{{
		Type:               apps.ContainerRecreateRequestConditionPreRecreateGrace,
		Status:             metav1.ConditionTrue,
		Reason:             apps.ContainerRecreateRequestConditionPreRecreateGrace,
		LastTransitionTime: metav1.NewTime(acquired.UTC()),
	}}
}

// snapshotOf returns the statuses in the annotation, or nil if it is invalid.
func snapshotOf(text string) []apps.ContainerRecreateRequestContainerStatus {
	var items []syncedStatus
	if err := json.Unmarshal([]byte(text), &items); err != nil {
		return nil
	}
	statuses := make([]apps.ContainerRecreateRequestContainerStatus, 0, len(items))
	for _, item := range items {
		statuses = append(statuses, apps.ContainerRecreateRequestContainerStatus(item))
	}
	return statuses
}

func textOf(statuses []apps.ContainerRecreateRequestContainerStatus) (string, error) {
	items := make([]syncedStatus, 0, len(statuses))
	for _, status := range statuses {
		items = append(items, syncedStatus(status))
	}
	text, err := json.Marshal(items)
	return string(text), err
}

// Convert_apps_ContainerRecreateRequestStatus_To_v1alpha1_ContainerRecreateRequestStatus skips the fields
// that v1alpha1 has as annotations.
func Convert_apps_ContainerRecreateRequestStatus_To_v1alpha1_ContainerRecreateRequestStatus(
	in *apps.ContainerRecreateRequestStatus, out *ContainerRecreateRequestStatus, s conversion.Scope,
) error {
	return autoConvert_apps_ContainerRecreateRequestStatus_To_v1alpha1_ContainerRecreateRequestStatus(in, out, s)
}
