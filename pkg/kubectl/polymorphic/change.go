package polymorphic

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	helpers "k8s.io/kubectl/pkg/polymorphichelpers"
	"k8s.io/kubectl/pkg/scheme"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/kubectl/workload"
)

// restartedAt is the variable that a restart sets in each container of a workload that recreates its Pods.
const restartedAt = "RESTARTED_AT"

// inPlace is true if the manager of the cluster restarts containers in place for the annotation of a restart. With the manager of
// OpenKruise, the annotation restarts nothing, but a changed variable recreates the Pods.
var inPlace atomic.Bool

// RestartInPlace says whether the manager of the cluster restarts containers in place.
func RestartInPlace(supported bool) { inPlace.Store(supported) }

// kubectl prints these texts behind the name of the object.
var (
	errPaused       = errors.New("is already paused")
	errNotPaused    = errors.New("is not paused")
	errNoPausing    = errors.New("pausing is not supported")
	errNoResuming   = errors.New("resuming is not supported")
	errNoRestarting = errors.New("restarting is not supported")
)

// selecting returns a ReplicaSet with the selector of a workload in the table, or the object itself. kubectl then
// lists its Pods by code that it has for ReplicaSets.
func selecting(object runtime.Object) (runtime.Object, error) {
	w, err := workload.Of(object)
	if w == nil || err != nil {
		return object, err
	}
	if !w.Has(w.Selector) {
		return nil, fmt.Errorf("%s %s does not select Pods: name one of its Pods", w.Title, w.GetName())
	}
	selector, err := w.PodSelector()
	if err != nil {
		return nil, err
	}
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: w.GetName(), Namespace: w.GetNamespace()},
		Spec:       appsv1.ReplicaSetSpec{Selector: selector},
	}, nil
}

// change applies a change to a workload in the table and encodes the result. handled is false for any other object.
// kubectl makes a patch from the encoded object and the one before.
func change(object runtime.Object, apply func(*workload.Workload) error) (encoded []byte, handled bool, err error) {
	w, err := workload.Of(object)
	if w == nil || err != nil {
		return nil, err != nil, err
	}
	if err := apply(w); err != nil {
		return nil, true, err
	}
	if err := w.Save(); err != nil {
		return nil, true, err
	}
	encoded, err = runtime.Encode(scheme.DefaultJSONEncoder(), object)
	return encoded, true, err
}

// pauser returns the function that kubectl calls for rollout pause. The other ones below follow the same form: they
// answer for kinds in the table, and pass on the rest.
func pauser(other helpers.ObjectPauserFunc) helpers.ObjectPauserFunc {
	return func(object runtime.Object) ([]byte, error) {
		encoded, handled, err := change(object, func(w *workload.Workload) error {
			switch {
			case !w.Pausable():
				return errNoPausing
			case w.IsPaused():
				return errPaused
			default:
				return w.SetPaused(true)
			}
		})
		if !handled {
			return other(object)
		}
		return encoded, err
	}
}

// resumer returns the function for rollout resume.
func resumer(other helpers.ObjectResumerFunc) helpers.ObjectResumerFunc {
	return func(object runtime.Object) ([]byte, error) {
		encoded, handled, err := change(object, func(w *workload.Workload) error {
			switch {
			case !w.Pausable():
				return errNoResuming
			case !w.IsPaused():
				return errNotPaused
			default:
				return w.SetPaused(false)
			}
		})
		if !handled {
			return other(object)
		}
		return encoded, err
	}
}

// restarter returns the function for rollout restart. Where containers can restart in place, it sets the annotation that kubectl uses, and
// otherwise a variable.
func restarter(other helpers.ObjectRestarterFunc, now clock.PassiveClock) helpers.ObjectRestarterFunc {
	return func(object runtime.Object) ([]byte, error) {
		at := now.Now().Format(time.RFC3339)
		if inPlace.Load() {
			if encoded, err := restartSubsets(object, at); encoded != nil || err != nil {
				return encoded, err
			}
		}
		encoded, handled, err := change(object, func(w *workload.Workload) error {
			switch {
			case !w.RollsOut():
				return errNoRestarting
			case inPlace.Load() && w.InPlace():
				return w.ChangePodTemplate(func(template *corev1.PodTemplateSpec) error {
					metav1.SetMetaDataAnnotation(&template.ObjectMeta, pub.RestartedAtKey, at)
					return nil
				})
			}
			return w.ChangePodSpec(func(spec *corev1.PodSpec) error {
				for i := range spec.Containers {
					setEnv(&spec.Containers[i], restartedAt, at)
				}
				return nil
			})
		})
		if !handled {
			return other(object)
		}
		return encoded, err
	}
}

// restartSubsets sets the annotation of a restart in the Pod template of a UnitedDeployment. The workloads of its subsets then restart as
// each does by itself. It returns nil for any other object.
func restartSubsets(object runtime.Object, at string) ([]byte, error) {
	switch object.(type) {
	case *v1beta1.UnitedDeployment, *v1alpha1.UnitedDeployment:
	default:
		return nil, nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("read the UnitedDeployment: %w", err)
	}
	templates, _, err := unstructured.NestedMap(content, "spec", "template")
	if err != nil {
		return nil, fmt.Errorf("read the template of the UnitedDeployment: %w", err)
	}
	// One of them is set, for the kind of the workloads.
	for name := range templates {
		err := unstructured.SetNestedField(content, at,
			"spec", "template", name, "spec", "template", "metadata", "annotations", pub.RestartedAtKey)
		if err != nil {
			return nil, fmt.Errorf("annotate the template of the UnitedDeployment: %w", err)
		}
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, object); err != nil {
		return nil, fmt.Errorf("annotate the template of the UnitedDeployment: %w", err)
	}
	return runtime.Encode(scheme.DefaultJSONEncoder(), object)
}

// setEnv sets a variable of a container, and replaces one that has the name already.
func setEnv(container *corev1.Container, name, value string) {
	for i := range container.Env {
		if container.Env[i].Name == name {
			container.Env[i] = corev1.EnvVar{Name: name, Value: value}
			return
		}
	}
	container.Env = append(container.Env, corev1.EnvVar{Name: name, Value: value})
}

// podSpecChanger returns the function by which kubectl's set commands change the Pods of an object. Save writes the
// change into the object of the caller.
func podSpecChanger(other helpers.UpdatePodSpecForObjectFunc) helpers.UpdatePodSpecForObjectFunc {
	return func(object runtime.Object, apply func(*corev1.PodSpec) error) (bool, error) {
		w, err := workload.Of(object)
		if err != nil {
			return false, err
		}
		if w == nil {
			return other(object, apply)
		}
		if err := w.ChangePodSpec(apply); err != nil {
			return true, err
		}
		return true, w.Save()
	}
}
