package polymorphic

import (
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	helpers "k8s.io/kubectl/pkg/polymorphichelpers"
	"k8s.io/kubectl/pkg/scheme"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/kubectl/workload"
)

// restartedAt is the variable that a restart sets in each container. A changed variable recreates the containers, whatever the
// update policy of the workload is.
const restartedAt = "RESTARTED_AT"

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

// restarter returns the function for rollout restart. It sets a variable instead of the annotation that kubectl uses,
// see restartedAt.
func restarter(other helpers.ObjectRestarterFunc, now clock.PassiveClock) helpers.ObjectRestarterFunc {
	return func(object runtime.Object) ([]byte, error) {
		encoded, handled, err := change(object, func(w *workload.Workload) error {
			if !w.RollsOut() {
				return errNoRestarting
			}
			return w.ChangePodSpec(func(spec *corev1.PodSpec) error {
				for i := range spec.Containers {
					setEnv(&spec.Containers[i], restartedAt, now.Now().Format(time.RFC3339))
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
