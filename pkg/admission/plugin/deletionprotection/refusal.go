package deletionprotection

import (
	"context"
	"fmt"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

	"kruise.io/kruise/pkg/admission/protectionlog"
	"kruise.io/kruise/pkg/apis/pub"
)

// refusal returns the error for the user. Tools match the beginning of its message.
func refusal(protection, reason string) error {
	remedy := "remove the label to delete it"
	if protection == pub.DeletionProtectionCascading {
		remedy = "empty it first, or " + remedy
	}
	return fmt.Errorf("forbidden by ResourcesProtectionDeletion for %s=%s%s; %s", pub.DeletionProtectionKey, protection, reason, remedy)
}

// The metric labels name user objects. A series exists only after a refusal.
var (
	namespaceRefusals  = newCounter("namespace_deletion_protection", "Number of refused namespace deletions.", "name")
	definitionRefusals = newCounter("crd_deletion_protection", "Number of refused CustomResourceDefinition deletions.", "name")
	workloadRefusals   = newCounter("workload_deletion_protection", "Number of refused workload deletions.", "kind_namespace_name")
)

func newCounter(name, help, object string) *metrics.CounterVec {
	return metrics.NewCounterVec(&metrics.CounterOpts{Name: name, Help: help, StabilityLevel: metrics.ALPHA}, []string{object, "username"})
}

// RegisterMetrics registers the counters. Only the first call has an effect.
var RegisterMetrics = sync.OnceFunc(func() {
	legacyregistry.MustRegister(namespaceRefusals, definitionRefusals, workloadRefusals)
})

// record counts a refusal and writes it to the protection log.
func (p *Plugin) record(ctx context.Context, kind kind, object metav1.Object, user string) {
	namespace, name := object.GetNamespace(), object.GetName()
	switch kind.name {
	case "Namespace":
		namespaceRefusals.WithLabelValues(name, user).Inc()
	case "CustomResourceDefinition":
		definitionRefusals.WithLabelValues(name, user).Inc()
	default:
		workloadRefusals.WithLabelValues(strings.Join([]string{kind.name, namespace, name}, "_"), user).Inc()
	}
	p.Log.Write(ctx, protectionlog.Entry{
		Event: protectionlog.DeletionProtection, Kind: kind.name, Namespace: namespace, Name: name, UserAgent: user,
	})
}
