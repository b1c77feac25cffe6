package polymorphic

import (
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	helpers "k8s.io/kubectl/pkg/polymorphichelpers"
	"k8s.io/kubectl/pkg/scheme"
	"k8s.io/utils/clock"

	kruisescheme "kruise.io/kruise/pkg/generated/clientset/versioned/scheme"
	"kruise.io/kruise/pkg/kubectl/workload"
)

var installed sync.Once

// Install registers the types of this project with kubectl, and replaces the functions that kubectl asks about objects. Further
// calls do nothing: kubectl keeps both in global variables.
func Install(now clock.PassiveClock) (err error) {
	installed.Do(func() { err = install(now) })
	return err
}

// install wraps the functions of kubectl. Each wrapper keeps the function that was there before it.
func install(now clock.PassiveClock) error {
	if err := kruisescheme.AddToScheme(scheme.Scheme); err != nil {
		return fmt.Errorf("register the types: %w", err)
	}
	helpers.HistoryViewerFn = historyViewerFor(helpers.HistoryViewerFn)
	helpers.RollbackerFn = rollbackerFor(helpers.RollbackerFn)
	helpers.StatusViewerFn = statusViewerFor(helpers.StatusViewerFn)
	helpers.ObjectPauserFn = pauser(helpers.ObjectPauserFn)
	helpers.ObjectResumerFn = resumer(helpers.ObjectResumerFn)
	helpers.ObjectRestarterFn = restarter(helpers.ObjectRestarterFn, now)
	helpers.UpdatePodSpecForObjectFn = podSpecChanger(helpers.UpdatePodSpecForObjectFn)
	installPods()
	installExposure()
	return nil
}

// installPods makes exec and logs find the Pods of our kinds. kubectl then sees a ReplicaSet with the same selector.
func installPods() {
	attachable, logs, allLogs := helpers.AttachablePodForObjectFn, helpers.LogsForObjectFn, helpers.AllPodLogsForObjectFn
	helpers.AttachablePodForObjectFn = func(getter genericclioptions.RESTClientGetter, object runtime.Object, timeout time.Duration,
	) (*corev1.Pod, error) {
		object, err := selecting(object)
		if err != nil {
			return nil, err
		}
		return attachable(getter, object, timeout)
	}
	wrap := func(of helpers.LogsForObjectFunc) helpers.LogsForObjectFunc {
		return func(getter genericclioptions.RESTClientGetter, object, options runtime.Object, timeout time.Duration, all bool,
		) (map[corev1.ObjectReference]rest.ResponseWrapper, error) {
			object, err := selecting(object)
			if err != nil {
				return nil, err
			}
			return of(getter, object, options, timeout, all)
		}
	}
	helpers.LogsForObjectFn = wrap(logs)
	helpers.AllPodLogsForObjectFn = helpers.AllPodLogsForObjectFunc(wrap(helpers.LogsForObjectFunc(allLogs)))
}

// installExposure makes expose accept the kinds in the table that a Service can be made for.
func installExposure() {
	exposable, selector := helpers.CanBeExposedFn, helpers.MapBasedSelectorForObjectFn
	ports, protocols := helpers.PortsForObjectFn, helpers.MultiProtocolsForObjectFn
	helpers.CanBeExposedFn = func(kind schema.GroupKind) error {
		if row := workload.KindOf(kind); row != nil && row.Exposable {
			return nil
		}
		return exposable(kind)
	}
	helpers.MapBasedSelectorForObjectFn = func(object runtime.Object) (string, error) {
		object, err := selecting(object)
		if err != nil {
			return "", err
		}
		return selector(object)
	}
	// The ports of a CloneSet are not read from its template: users of the plugin name them.
	helpers.PortsForObjectFn = func(object runtime.Object) ([]string, error) {
		if w, err := workload.Of(object); w != nil || err != nil {
			return nil, err
		}
		return ports(object)
	}
	helpers.MultiProtocolsForObjectFn = func(object runtime.Object) (map[string][]string, error) {
		if w, err := workload.Of(object); w != nil || err != nil {
			return nil, err
		}
		return protocols(object)
	}
}

// rowFor returns the row of a mapping's kind if the kind rolls out, or nil.
func rowFor(mapping *meta.RESTMapping) *workload.Kind {
	if row := workload.KindOf(mapping.GroupVersionKind.GroupKind()); row != nil && row.RollsOut() {
		return row
	}
	return nil
}
