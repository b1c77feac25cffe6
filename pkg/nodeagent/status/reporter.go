package status

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/nodeagent/cluster"
)

const (
	component = "kruise-daemon"
	// ReasonStarted is the reason of the event.
	ReasonStarted = "NodeAgentStarted"
)

// Report is the content of the event.
type Report struct {
	// Agent is the agent's version.
	Agent string
	// Runtimes holds the names and versions of the container runtimes, in order of preference.
	Runtimes []string
}

// Reporter writes events about one node.
type Reporter struct {
	// Events writes to the namespace default, where events about nodes are stored.
	Events cluster.Events
	Node   string
	Clock  clock.PassiveClock
}

// backoff is the delay between attempts while the API is away: 1 s at first, then doubling up to one minute.
var backoff = wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.5, Steps: 7, Cap: time.Minute}

// Report writes the event. It retries until the event is written, the API refuses it permanently, or ctx ends.
func (r *Reporter) Report(ctx context.Context, report Report) {
	logger := klog.FromContext(ctx)
	// Forbidden and invalid are final: a retry cannot change them.
	err := backoff.DelayFunc().Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		err := r.write(ctx, report)
		if err != nil && !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) {
			logger.V(2).Info("Failed to write the event about this node, retrying", "err", err)
			return false, nil
		}
		return true, err
	})
	if err != nil && ctx.Err() == nil {
		logger.Error(err, "Gave up on the event about this node")
	}
}

// write creates the event. If the event exists, write increases its count. The count is not exact if two agents write at once.
func (r *Reporter) write(ctx context.Context, report Report) error {
	event := r.event(report)
	_, err := r.Events.Create(ctx, event, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	// The first patch returns the stored event with its count, which the second one increases.
	written, err := r.patch(ctx, event.Name, map[string]any{"lastTimestamp": event.LastTimestamp})
	if err != nil {
		return fmt.Errorf("refresh event: %w", err)
	}
	if _, err := r.patch(ctx, event.Name, map[string]any{"count": written.Count + 1}); err != nil {
		return fmt.Errorf("count event: %w", err)
	}
	return nil
}

// patch changes fields of an event by a merge patch.
func (r *Reporter) patch(ctx context.Context, name string, fields map[string]any) (*corev1.Event, error) {
	data, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	return r.Events.Patch(ctx, name, types.MergePatchType, data, metav1.PatchOptions{})
}

// event returns the event for its first occurrence.
func (r *Reporter) event(report Report) *corev1.Event {
	now := metav1.NewTime(r.Clock.Now())
	message := fmt.Sprintf("Node agent %s runs on %s", report.Agent, strings.Join(report.Runtimes, ", "))
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: r.eventName(message)},
		// Use the node name as UID, as the kubelet does for events about its node.
		InvolvedObject:      corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: r.Node, UID: types.UID(r.Node)},
		Type:                corev1.EventTypeNormal,
		Reason:              ReasonStarted,
		Message:             message,
		Source:              corev1.EventSource{Component: component, Host: r.Node},
		ReportingController: component,
		ReportingInstance:   r.Node,
		FirstTimestamp:      now,
		LastTimestamp:       now,
		Count:               1,
	}
}

// eventName depends only on the message and the node, so every agent process uses the same event. The name of the
// node is cut if necessary; the hash keeps names of different messages apart.
func (r *Reporter) eventName(message string) string {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(message)) // Write never returns an error.
	const longest = validation.DNS1123SubdomainMaxLength - len("."+component+".0123456789abcdef")
	node := r.Node
	if len(node) > longest {
		node = strings.TrimRight(node[:longest], ".-")
	}
	return fmt.Sprintf("%s.%s.%016x", node, component, hash.Sum64())
}
