package install_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kruise.io/kruise/pkg/generated/openapi"
)

// TestSchemaNamesTheValues asks the published schema for the values of each field that has
// only a few: "kubectl explain" and editors show them from there.
func TestSchemaNamesTheValues(t *testing.T) {
	schemas := openapi.GetOpenAPIDefinitions(spec.MustCreateRef)
	for _, field := range []struct {
		schema, name string
		want         []any
	}{
		{"v1alpha1.CloneSetUpdateStrategy", "type", []any{"InPlaceIfPossible", "InPlaceOnly", "OnDelete", "ReCreate"}},
		{"v1beta1.CloneSetUpdateStrategy", "type", []any{"OnDelete", "RollingUpdate"}},
		{"v1beta1.AdvancedCronJobSpec", "concurrencyPolicy", []any{"Allow", "Forbid", "Replace"}},
		{"v1beta1.FailurePolicy", "type", []any{"Continue", "FailFast", "Pause"}},
		{"v1alpha1.CompletionPolicy", "type", []any{"Always", "Never"}},
		{"v1beta1.ImagePullJobSpec", "imagePullPolicy", []any{"Always", "IfNotPresent"}},
		{"v1beta1.RollingUpdateCloneSetStrategy", "podUpdatePolicy", []any{"InPlaceIfPossible", "InPlaceOnly", "ReCreate"}},
		{"v1alpha1.StatefulSetSpec", "podManagementPolicy", []any{"OrderedReady", "Parallel"}},
		{"v1alpha1.StatefulSetUpdateStrategy", "type", []any{"OnDelete", "RollingUpdate"}},
		{"v1beta1.RollingUpdateStatefulSetStrategy", "podUpdatePolicy", []any{"InPlaceIfPossible", "InPlaceOnly", "ReCreate"}},
		{"v1alpha1.DaemonSetUpdateStrategy", "type", []any{"OnDelete", "RollingUpdate"}},
		{"v1alpha1.RollingUpdateDaemonSet", "rollingUpdateType", []any{"InPlaceIfPossible", "Standard", "Surging"}},
		{"v1beta1.RollingUpdateDaemonSet", "rollingUpdateType", []any{"InPlaceIfPossible", "Standard"}},
		{"v1alpha1.UnitedDeploymentScheduleStrategy", "type", []any{"Adaptive", "Fixed"}},
		{"v1beta1.UnitedDeploymentScheduleStrategy", "type", []any{"Adaptive", "Fixed"}},
		{"v1beta1.UnitedDeploymentUpdateStrategy", "type", []any{"Manual"}},
		{"v1beta1.VolumeClaimUpdateStrategy", "type", []any{"OnDelete", "OnPodRollingUpdate"}},
		{"v1beta1.StatefulSetPersistentVolumeClaimRetentionPolicy", "whenDeleted", []any{"Delete", "Retain"}},
		{"v1beta1.StatefulSetPersistentVolumeClaimRetentionPolicy", "whenScaled", []any{"Delete", "Retain"}},
		{"v1alpha1.ContainerRecreateRequestStrategy", "failurePolicy", []any{"Fail", "Ignore"}},
		{"v1beta1.ContainerRecreateRequestStrategy", "failurePolicy", []any{"Fail", "Ignore"}},
		{"v1alpha1.WorkloadSpreadScheduleStrategy", "type", []any{"Adaptive", "Fixed"}},
		{"v1beta1.WorkloadSpreadScheduleStrategy", "type", []any{"Adaptive", "Fixed"}},
		{"v1beta1.PersistentPodStateSpec", "persistentPodStateRetentionPolicy", []any{"WhenDeleted", "WhenScaled"}},
		{"v1beta1.ImageTagSpec", "imagePullPolicy", []any{"Always", "IfNotPresent"}},
		{"v1beta1.SidecarContainer", "podInjectPolicy", []any{"AfterAppContainer", "BeforeAppContainer"}},
		{"v1beta1.SidecarContainerUpgradeStrategy", "upgradeType", []any{"ColdUpgrade", "HotUpgrade"}},
		{"v1beta1.ShareVolumePolicy", "type", []any{"disabled", "enabled"}},
		{"v1beta1.ResourcesPolicy", "targetContainersMode", []any{"max", "sum"}},
		{"v1beta1.SidecarSetUpdateStrategy", "type", []any{"NotUpdate", "RollingUpdate"}},
		{"v1beta1.SidecarSetInjectRevision", "policy", []any{"Always", "Partial"}},
		{"v1beta1.SidecarSetPatchPodMetadata", "patchPolicy", []any{"MergePatchJson", "Overwrite", "Retain"}},
		{"v1alpha1.ContainerProbeState", "state", []any{"Failed", "Succeeded", "Unknown"}},
	} {
		schema := "io.kruise.kruise.pkg.apis.apps." + field.schema
		require.Contains(t, schemas, schema)
		assert.Equal(t, field.want, schemas[schema].Schema.Properties[field.name].Enum, "%s.%s", field.schema, field.name)
	}
}
