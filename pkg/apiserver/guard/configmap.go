package guard

import (
	"context"
	"fmt"
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

const (
	// ConfigMapName is the default name of the ConfigMap with the cluster's copy of the record. It is in the
	// namespace of the installation.
	ConfigMapName = "kruise-store"
	// OpenAnnotation tells the guard to open the store that the value names.
	OpenAnnotation = "kruise.io/open-store"

	identityKey, generationKey = "identity", "generation"
	// lostKey stores evidence of a loss that a later start cannot find again: the revision of etcd decreased while the server ran.
	lostKey = "lost"
	// stateKey is informational.
	stateKey  = "state"
	stateOpen = "open"
	// warningKey is informational.
	warningKey = "warning"
)

const warningText = "Do not delete this ConfigMap. kruise-apiserver recognizes its store by it. Without it, a lost store is detected " +
	"only while Pods of Kruise workloads exist."

// clusterRecord is the cluster's copy of the record. It is passed by value: the caller changes a copy and calls
// write.
type clusterRecord struct {
	// Identity is empty if the cluster has no record of a store.
	Identity string
	// Generation is the highest generation that the cluster has seen. Lost is the message of lostKey, or empty.
	Generation int64
	Lost       string
	// Confirmed is the token in the annotation of the operator.
	Confirmed string

	// name is the name of the ConfigMap. object is the ConfigMap as read, or nil if it does not exist; write needs it
	// to detect conflicts.
	name   string
	object *corev1.ConfigMap
}

// readCluster reads the record live. A missing ConfigMap is an empty record and no error: the cluster then has no
// record of a store.
func readCluster(ctx context.Context, client typedcorev1.ConfigMapInterface, name string) (clusterRecord, error) {
	object, err := client.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return clusterRecord{name: name}, nil
	}
	if err != nil {
		return clusterRecord{}, fmt.Errorf("read ConfigMap %s: %w", name, err)
	}
	return parse(object)
}

// parse reads the record in a ConfigMap. An invalid generation is an error, because without it a rollback cannot be detected.
func parse(object *corev1.ConfigMap) (clusterRecord, error) {
	record := clusterRecord{
		Identity: object.Data[identityKey], Lost: object.Data[lostKey], Confirmed: object.Annotations[OpenAnnotation],
		name: object.Name, object: object,
	}
	if record.Identity == "" {
		return record, nil
	}
	var err error
	if record.Generation, err = strconv.ParseInt(object.Data[generationKey], 10, 64); err != nil {
		return clusterRecord{}, fmt.Errorf("ConfigMap %s: data.%s %q is not a number; restore the previous value, or delete the key %s",
			object.Name, generationKey, object.Data[generationKey], identityKey)
	}
	return record, nil
}

// write creates or updates the ConfigMap, and returns the record with the object as written. It writes nothing if
// nothing changes. It returns a conflict if another client has changed the ConfigMap since it was read, and
// AlreadyExists if another client has created it. state is informational.
func (r clusterRecord) write(ctx context.Context, client typedcorev1.ConfigMapInterface, state string) (clusterRecord, error) {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: r.name, Labels: map[string]string{"app.kubernetes.io/part-of": "kruise"},
		// Keep the ConfigMap if a Helm chart of the operator manages it and is uninstalled.
		Annotations: map[string]string{"helm.sh/resource-policy": "keep"},
	}}
	if r.object != nil {
		object = r.object.DeepCopy()
	}
	data := map[string]string{stateKey: state, warningKey: warningText}
	if r.Identity != "" {
		data[identityKey], data[generationKey] = r.Identity, strconv.FormatInt(r.Generation, 10)
	}
	if r.Lost != "" {
		data[lostKey] = r.Lost
	}
	// The annotation is removed once it was used. An unused one stays, as the operator may have written it a moment
	// ago.
	if r.Confirmed == "" {
		delete(object.Annotations, OpenAnnotation)
	}
	same := r.object != nil && maps.Equal(object.Data, data) && object.Annotations[OpenAnnotation] == r.object.Annotations[OpenAnnotation]
	if same {
		return r, nil
	}
	object.Data = data
	var err error
	if r.object == nil {
		object, err = client.Create(ctx, object, metav1.CreateOptions{})
	} else {
		object, err = client.Update(ctx, object, metav1.UpdateOptions{})
	}
	if err != nil {
		return clusterRecord{}, fmt.Errorf("write ConfigMap %s: %w", r.name, err)
	}
	r.object = object
	return r, nil
}
