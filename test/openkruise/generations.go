package openkruise

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"text/template"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Generation is what one version of the chart installs.
type Generation struct {
	// Version is that of the chart.
	Version string
	// Label is the value of the label control-plane of the namespace, which the webhooks for Pods exclude.
	Label string
	// ExcludesKubeSystem is true if the webhooks also exclude kube-system.
	ExcludesKubeSystem bool
	// AgentsNamespace is true if the chart creates the namespace of the pull secrets, and lets node agents read them.
	AgentsNamespace bool
	// WebhookRole, CertsRole, Hook and Aggregated say which roles the chart has beside those of all versions.
	WebhookRole, CertsRole, Hook, Aggregated bool
	// Conversion is true if the manager converts between the versions of most kinds.
	Conversion bool
}

// Generations are the versions of the chart that differ. For versions before 1.5, the failure policy of the webhooks for Pods is not known,
// so the stricter one is assumed.
func Generations() []Generation {
	return []Generation{
		{Version: "1.3", Label: "controller-manager"},
		{Version: "1.4.1", Label: "controller-manager", AgentsNamespace: true},
		{
			Version: "1.8", Label: "openkruise", ExcludesKubeSystem: true, AgentsNamespace: true, WebhookRole: true, CertsRole: true, Hook: true,
			Aggregated: true,
		},
		{
			Version: "1.9", Label: "openkruise", ExcludesKubeSystem: true, AgentsNamespace: true, WebhookRole: true, CertsRole: true, Hook: true,
			Aggregated: true, Conversion: true,
		},
	}
}

// Converted are the kinds whose definitions have a conversion webhook if Generation.Conversion is set.
var Converted = []string{
	"CloneSet", "SidecarSet", "StatefulSet", "UnitedDeployment", "DaemonSet", "ContainerRecreateRequest", "ResourceDistribution",
	"PersistentPodState", "WorkloadSpread",
}

//go:embed objects.yaml
var objects string

// Objects returns what the chart installs in a namespace, except for that namespace and the CustomResourceDefinitions. image is that of the
// stand-in of the manager and of the node agent.
func (g Generation) Objects(namespace, image string) ([]*unstructured.Unstructured, error) {
	parsed, err := template.New("objects").Parse(objects)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := parsed.Execute(&text, map[string]any{"G": g, "Namespace": namespace, "Image": image}); err != nil {
		return nil, err
	}
	var all []*unstructured.Unstructured
	for decoder := yaml.NewYAMLOrJSONDecoder(&text, 4096); ; {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(&object.Object); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("object %d of version %s: %w", len(all), g.Version, err)
		}
		if len(object.Object) == 0 {
			continue
		}
		object.SetAnnotations(map[string]string{"meta.helm.sh/release-name": Release, "meta.helm.sh/release-namespace": ReleaseNamespace})
		all = append(all, object)
	}
}

// Release and ReleaseNamespace are those of Helm, which the user chooses.
const (
	Release          = "kruise"
	ReleaseNamespace = "kube-public"
)

// Convert returns the conversion of a CustomResourceDefinition, or nil if it has none.
func (g Generation) Convert(kind, namespace string) map[string]any {
	for _, converted := range Converted {
		if g.Conversion && kind == converted {
			return map[string]any{"strategy": "Webhook", "webhook": map[string]any{
				"conversionReviewVersions": []any{"v1"},
				"clientConfig": map[string]any{"service": map[string]any{
					"namespace": namespace, "name": Service, "path": "/convert", "port": int64(443),
				}},
			}}
		}
	}
	return nil
}
