package containerrestart

import (
	"context"
	"fmt"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// edit changes a status. It may be called several times, each time with another copy.
type edit func(*v1beta1.ContainerRecreateRequestStatus)

// complete sets the phase of the request to Completed. message is empty for a request that was carried out, even if
// some containers failed under the policy Ignore.
func (c *Controller) complete(ctx context.Context, r *request, states []containerState, message string) error {
	klog.FromContext(ctx).V(2).Info("Ending", "request", klog.KObj(r), "message", message)
	return c.report(ctx, r, func(status *v1beta1.ContainerRecreateRequestStatus) {
		status.Phase, status.Message, status.ContainerRecreateStates = v1beta1.ContainerRecreateRequestCompleted, message, states
		status.CompletionTime = new(metav1.NewTime(c.config.Clock.Now()))
	})
}

// reportStates writes the states of the containers.
func (c *Controller) reportStates(ctx context.Context, r *request, states []containerState) error {
	return c.report(ctx, r, func(status *v1beta1.ContainerRecreateRequestStatus) { status.ContainerRecreateStates = states })
}

// report writes a status if the request is unchanged since it was read. After a conflict, the event of the other
// change starts the next pass.
func (c *Controller) report(ctx context.Context, r *request, edit edit) error {
	err := c.write(ctx, r, edit)
	if apierrors.IsConflict(err) {
		klog.FromContext(ctx).V(4).Info("Another client changed the request", "request", klog.KObj(r))
		return nil
	}
	return err
}

// persist writes the result of a stop and retries on conflict, because the result cannot be observed again. A request
// that ended in the meantime, for example at its deadline, gets the state of this container too.
// retry.DefaultRetry makes a few attempts within milliseconds. The agent and the controller are the only usual
// writers.
func (c *Controller) persist(ctx context.Context, r *request, result containerState) error {
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		err := c.write(ctx, r, func(status *v1beta1.ContainerRecreateRequestStatus) {
			i := slices.IndexFunc(status.ContainerRecreateStates, func(s containerState) bool { return s.Name == result.Name })
			if i < 0 {
				status.ContainerRecreateStates = append(status.ContainerRecreateStates, result)
				return
			}
			status.ContainerRecreateStates[i] = result
		})
		if !apierrors.IsConflict(err) {
			return err
		}
		fresh, readErr := c.read(ctx, r)
		if readErr != nil {
			return readErr
		}
		// The request is gone, so nobody needs the result.
		if fresh == nil {
			return nil
		}
		r = fresh
		return err
	})
	if over(r) {
		c.written.Forget(r.UID) // The watch does not show requests that have ended.
	}
	return err
}

// write updates the status unless edit changes nothing. It returns a conflict if the request has changed since it was
// read, and nil if the request is gone.
func (c *Controller) write(ctx context.Context, r *request, edit edit) error {
	updated := r.DeepCopy()
	edit(&updated.Status)
	if apiequality.Semantic.DeepEqual(&r.Status, &updated.Status) {
		return nil
	}
	written, err := c.config.Client.ContainerRecreateRequests(r.Namespace).UpdateStatus(ctx, updated, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("update status of %s: %w", r.Name, err)
	}
	c.written.Wrote(written)
	return nil
}

// read returns the current request, even if it is no longer active, or nil if it is gone or another request has its
// name. It uses a list, because the API server authorizes agents for lists of their own node only, not for get.
func (c *Controller) read(ctx context.Context, r *request) (*request, error) {
	list, err := c.config.Client.ContainerRecreateRequests(r.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: c.ofThisNode, FieldSelector: fields.OneTermEqualSelector("metadata.name", r.Name).String(),
	})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", r.Name, err)
	}
	for i := range list.Items {
		if list.Items[i].UID == r.UID {
			return &list.Items[i], nil
		}
	}
	return nil, nil
}
