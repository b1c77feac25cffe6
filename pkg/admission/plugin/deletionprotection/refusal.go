package deletionprotection

import (
	"context"
	"fmt"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-base/metrics/legacyregistry"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/protectionlog"
	"kruise.io/kruise/pkg/workload/refusals"
)

// refusal returns the error for the user. Tools match the beginning of its message. reason is empty for Always, else
// the result of kind.contents. The message ends with the remedy.
func refusal(protection, reason string) error {
	remedy := "remove the label to delete it"
	if protection == pub.DeletionProtectionCascading {
		remedy = "empty it first, or " + remedy
	}
	return fmt.Errorf("forbidden by ResourcesProtectionDeletion for %s=%s%s; %s", pub.DeletionProtectionKey, protection, reason, remedy)
}

// The metric labels name user objects, so the number of series is limited (see package refusals). A series exists
// only after a refusal.
var (
	namespaceRefusals  = refusals.NewCounter("namespace_deletion_protection", "Number of refused namespace deletions.", "name")
	definitionRefusals = refusals.NewCounter("crd_deletion_protection", "Number of refused CustomResourceDefinition deletions.", "name")
	workloadRefusals   = refusals.NewCounter("workload_deletion_protection", "Number of refused workload deletions.", "kind_namespace_name")
)

// RegisterMetrics registers the counters. Only the first call has an effect, because tests create several plugins and
// the registry is global.
var RegisterMetrics = sync.OnceFunc(func() {
	legacyregistry.MustRegister(namespaceRefusals.CounterVec, definitionRefusals.CounterVec, workloadRefusals.CounterVec)
})

// record counts a refusal and writes it to the protection log. user is the one who asked for the deletion.
func (p *Plugin) record(ctx context.Context, kind kind, object metav1.Object, user string) {
	namespace, name := object.GetNamespace(), object.GetName()
	switch kind.name {
	case "Namespace":
		namespaceRefusals.Count(name, user)
	case "CustomResourceDefinition":
		definitionRefusals.Count(name, user)
	default:
		workloadRefusals.Count(strings.Join([]string{kind.name, namespace, name}, "_"), user)
	}
	p.Log.Write(ctx, protectionlog.Entry{
		Event: protectionlog.DeletionProtection, Kind: kind.name, Namespace: namespace, Name: name, UserAgent: user,
	})
}
