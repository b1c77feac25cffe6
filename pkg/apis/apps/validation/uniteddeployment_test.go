package validation_test

import (
	"fmt"
	"maps"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/validation"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/apis/rules/rulestest"
)

func validUnitedDeployment() *apps.UnitedDeployment {
	labels := map[string]string{"app": "demo"}
	set := &apps.CloneSetTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: maps.Clone(labels)}}
	set.Spec.Template = embeddedPod()
	return &apps.UnitedDeployment{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "default", ResourceVersion: "1"},
		Spec: apps.UnitedDeploymentSpec{
			Replicas: ptr.To[int32](10),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: apps.SubsetTemplate{CloneSetTemplate: set},
			Topology: apps.Topology{
				Subsets:          []apps.Subset{{Name: "a"}, {Name: "b"}},
				ScheduleStrategy: apps.UnitedDeploymentScheduleStrategy{Type: "Fixed"},
			},
			UpdateStrategy: apps.UnitedDeploymentUpdateStrategy{Type: "Manual", ManualUpdate: &apps.ManualUpdate{}},
		},
	}
}

func embeddedPod() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "demo"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "demo:v1"}}},
	}
}

type udSpec = apps.UnitedDeploymentSpec

// The four make the template one of another kind.
func nativeSet(s *udSpec) *appsv1.StatefulSetSpec {
	set := &apps.StatefulSetTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "demo"}}}
	set.Spec.Template = embeddedPod()
	s.Template = apps.SubsetTemplate{StatefulSetTemplate: set}
	return &set.Spec
}

func advanced(s *udSpec) *apps.StatefulSetSpec {
	set := &apps.AdvancedStatefulSetTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "demo"}}}
	set.Spec.Template = embeddedPod()
	s.Template = apps.SubsetTemplate{AdvancedStatefulSetTemplate: set}
	return &set.Spec
}

func deployment(s *udSpec) *appsv1.DeploymentSpec {
	template := &apps.DeploymentTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "demo"}}}
	template.Spec.Template = embeddedPod()
	s.Template = apps.SubsetTemplate{DeploymentTemplate: template}
	return &template.Spec
}

func shares(values ...*intstr.IntOrString) func(*udSpec) {
	return func(s *udSpec) {
		s.Topology.Subsets = nil
		for i, value := range values {
			s.Topology.Subsets = append(s.Topology.Subsets, apps.Subset{Name: string(rune('a' + i)), Replicas: value})
		}
	}
}

const (
	udTemplate = "spec.template."
	udSubsets  = "spec.topology.subsets"
	adaptive   = "spec.topology.scheduleStrategy.adaptive."
)

// unitedDeploymentCases are the rules about a spec alone: a change to a valid UnitedDeployment of
// CloneSets with 10 replicas, and the errors that it must bring, none when it is allowed.
var unitedDeploymentCases = map[string]struct {
	change func(*udSpec)
	want   []string
}{
	"valid":             {func(*udSpec) {}, nil},
	"replicas negative": {func(s *udSpec) { s.Replicas = ptr.To[int32](-1) }, []string{"spec.replicas: -1"}},
	"revisionHistoryLimit negative": {
		func(s *udSpec) { s.RevisionHistoryLimit = ptr.To[int32](-1) }, []string{"spec.revisionHistoryLimit: -1"},
	},
	"selector missing": {func(s *udSpec) { s.Selector = nil }, []string{"spec.selector: Required"}},
	"selector empty": {
		func(s *udSpec) { s.Selector = &metav1.LabelSelector{} }, []string{"spec.selector: empty selector is invalid for uniteddeployment"},
	},
	"selector by expression": {
		func(s *udSpec) {
			s.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Exists"}}}
		}, nil,
	},
	"no template": {func(s *udSpec) { s.Template = apps.SubsetTemplate{} }, []string{"spec.template: Required"}},
	"two templates": {
		func(s *udSpec) {
			both := s.Template.CloneSetTemplate
			nativeSet(s)
			s.Template.CloneSetTemplate = both
		}, []string{udTemplate + "cloneSetTemplate: only one template is allowed"},
	},
	"labels of the workload": {
		func(s *udSpec) { s.Template.CloneSetTemplate.Labels = nil },
		[]string{udTemplate + "cloneSetTemplate.metadata.labels: `selector` does not match template `labels`"},
	},
	"labels of its Pods": {
		func(s *udSpec) { nativeSet(s).Template.Labels = map[string]string{"app": "other"} },
		[]string{udTemplate + "statefulSetTemplate.spec.template.metadata.labels: `selector` does not match template `labels`"},
	},
	"invalid labels and annotations": {
		func(s *udSpec) {
			s.Template.CloneSetTemplate.Labels["a"], s.Template.CloneSetTemplate.Annotations = "not valid", map[string]string{"b d": ""}
		}, []string{udTemplate + "cloneSetTemplate.metadata.labels: \"not valid\"", udTemplate + "cloneSetTemplate.metadata.annotations: \"b d\""},
	},

	"StatefulSet": {func(s *udSpec) { nativeSet(s).ServiceName = "web" }, nil},
	"StatefulSet with another selector": {
		func(s *udSpec) {
			nativeSet(s).Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"x": "y"}}
		}, nil,
	},
	"StatefulSet with replicas": {
		func(s *udSpec) { nativeSet(s).Replicas = ptr.To[int32](1) }, []string{udTemplate + "statefulSetTemplate.spec.replicas: will not be used"},
	},
	"StatefulSet with a partition": {
		func(s *udSpec) {
			nativeSet(s).UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: ptr.To[int32](0)}
		}, []string{udTemplate + "statefulSetTemplate.spec.updateStrategy.rollingUpdate.partition: will not be used"},
	},
	"StatefulSet with a pace": {
		func(s *udSpec) {
			nativeSet(s).UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{MaxUnavailable: number(1)}
		}, nil,
	},
	"StatefulSet whose Pods have no labels": {
		func(s *udSpec) { nativeSet(s).Template.Labels = nil },
		[]string{udTemplate + "statefulSetTemplate.spec.template.metadata.labels: `selector` does not match template `labels`"},
	},
	"StatefulSet by core's rules": {
		func(s *udSpec) {
			spec := nativeSet(s)
			spec.PodManagementPolicy, spec.Template.Spec.Containers[0].Name = "Sometimes", "Not_DNS"
		}, []string{
			udTemplate + "statefulSetTemplate.spec.podManagementPolicy: Sometimes",
			udTemplate + "statefulSetTemplate.spec.template.spec.containers[0].name: Not_DNS",
		},
	},
	"advanced StatefulSet": {func(s *udSpec) { advanced(s).PodManagementPolicy = "Parallel" }, nil},
	"advanced StatefulSet with replicas": {
		func(s *udSpec) { advanced(s).Replicas = ptr.To[int32](1) },
		[]string{udTemplate + "advancedStatefulSetTemplate.spec.replicas: will not be used"},
	},
	"advanced StatefulSet with a partition": {
		func(s *udSpec) {
			advanced(s).UpdateStrategy.RollingUpdate = &apps.RollingUpdateStatefulSetStrategy{Partition: ptr.To[int32](0)}
		}, []string{udTemplate + "advancedStatefulSetTemplate.spec.updateStrategy.rollingUpdate.partition: will not be used"},
	},
	"advanced StatefulSet by its own rules": {
		func(s *udSpec) {
			advanced(s).UpdateStrategy.RollingUpdate = &apps.RollingUpdateStatefulSetStrategy{MaxUnavailable: number(2)}
		}, []string{udTemplate + "advancedStatefulSetTemplate.spec.updateStrategy.rollingUpdate.maxUnavailable: can only work with Parallel"},
	},
	"Deployment": {func(s *udSpec) { deployment(s) }, nil},
	"Deployment with replicas": {
		func(s *udSpec) { deployment(s).Replicas = ptr.To[int32](1) },
		[]string{udTemplate + "deploymentTemplate.spec.replicas: will not be used"},
	},
	"Deployment by core's rules": {
		func(s *udSpec) { deployment(s).MinReadySeconds = -1 }, []string{udTemplate + "deploymentTemplate.spec.minReadySeconds: -1"},
	},
	"CloneSet with replicas and a partition": {
		func(s *udSpec) {
			spec := &s.Template.CloneSetTemplate.Spec
			spec.Replicas = ptr.To[int32](-1)
			spec.UpdateStrategy.RollingUpdate = &apps.RollingUpdateCloneSetStrategy{Partition: text("abc")}
		}, nil,
	},
	"CloneSet by its own rules": {
		func(s *udSpec) { s.Template.CloneSetTemplate.Spec.MinReadySeconds = -1 },
		[]string{udTemplate + "cloneSetTemplate.spec.minReadySeconds: -1"},
	},

	"too many subsets": {func(s *udSpec) {
		s.Topology.Subsets = nil
		for i := range 101 {
			s.Topology.Subsets = append(s.Topology.Subsets, apps.Subset{Name: fmt.Sprint("s", i)})
		}
	}, []string{"spec.topology.subsets: 101: must have at most 100 items"}},
	"no subsets":          {func(s *udSpec) { s.Topology.Subsets = nil }, nil},
	"subset without name": {func(s *udSpec) { s.Topology.Subsets[0].Name = "" }, []string{udSubsets + "[0].name: Required"}},
	"subset name":         {func(s *udSpec) { s.Topology.Subsets[0].Name = "a.b" }, []string{udSubsets + `[0].name: "a.b"`}},
	"subset twice":        {func(s *udSpec) { s.Topology.Subsets[1].Name = "a" }, []string{udSubsets + `[1].name: Duplicate value: "a"`}},
	"nodes": {
		func(s *udSpec) {
			s.Topology.Subsets[0].NodeSelectorTerm.MatchExpressions = []corev1.NodeSelectorRequirement{{Key: "zone", Operator: "Near"}}
		}, []string{udSubsets + `[0].nodeSelectorTerm.matchExpressions[0].operator: "Near"`},
	},
	"tolerations": {
		func(s *udSpec) {
			s.Topology.Subsets[0].Tolerations = []corev1.Toleration{{Key: "a", Operator: "Exists", Value: "b"}}
		}, []string{udSubsets + "[0].tolerations[0].operator: value must be empty when"},
	},
	"patch": {
		func(s *udSpec) {
			s.Topology.Subsets[0].Patch = &runtime.RawExtension{Raw: []byte(`{"spec":{"containers":[{"name":"main","image":"x"}]}}`)}
		}, nil,
	},
	"empty patch": {func(s *udSpec) { s.Topology.Subsets[0].Patch = &runtime.RawExtension{} }, nil},
	"patch that is none": {
		func(s *udSpec) {
			s.Topology.Subsets[0].Patch = &runtime.RawExtension{Raw: []byte(`{"spec":{"containers":5}}`)}
		},
		[]string{udSubsets + "[0].patch: must be a strategic merge patch of a Pod template"},
	},
	"patch that is a text": {
		func(s *udSpec) { s.Topology.Subsets[0].Patch = &runtime.RawExtension{Raw: []byte(`"text"`)} },
		[]string{udSubsets + "[0].patch: must be a strategic merge patch of a Pod template"},
	},

	"shares":               {shares(number(2), text("30%"), nil), nil},
	"shares that add up":   {shares(number(7), text("30%")), nil},
	"a half is rounded up": {shares(text("35%"), text("25%"), number(3)), nil},
	"more than all":        {shares(number(11), nil), []string{udSubsets + ": 11: the subsets have more replicas than spec.replicas (10)"}},
	"a percentage as text": {shares(text("30"), nil), []string{udSubsets + `[0].replicas: "30"`}},
	"101%":                 {shares(text("101%"), nil), []string{udSubsets + `[0].replicas: "101%": must not be greater than 100%`}},
	"share with decimals":  {shares(text("33.3%"), nil), []string{udSubsets + `[0].replicas: "33.3%": must be a non-negative`}},
	"share negative":       {shares(number(-1), nil), []string{udSubsets + `[0].replicas: "-1"`}},
	"three thirds": {
		shares(text("33%"), text("33%"), text("33%")),
		[]string{udSubsets + ": 9: all subsets have replicas, and their sum is less than spec.replicas (10)"},
	},
	"no total": {func(s *udSpec) {
		shares(number(2), number(3))(s)
		s.Replicas = nil
	}, nil},
	"no total and a percentage": {func(s *udSpec) {
		shares(number(2), text("50%"))(s)
		s.Replicas = nil
	}, []string{udSubsets + "[1].replicas: must be an integer when spec.replicas is not set"}},
	"no total and a sum that no integer holds": {func(s *udSpec) {
		shares(number(math.MaxInt32), number(1))(s)
		s.Replicas = nil
	}, []string{udSubsets + ": 2147483648: the sum of all replicas must be at most 2147483647"}},
	"bounds":                {bounds(number(2), number(4), number(2), nil), nil},
	"bounds as percentages": {bounds(text("20%"), text("40%"), nil, nil), nil},
	"bounds and replicas": {
		func(s *udSpec) {
			bounds(number(2), nil, nil, nil)(s)
			s.Topology.Subsets[1].Replicas = number(1)
		}, []string{udSubsets + "[1].replicas: cannot be used when any subset has minReplicas or maxReplicas"},
	},
	"bounds crossed": {
		bounds(number(5), text("40%"), nil, nil), []string{udSubsets + `[0].minReplicas: "5": must not be more than maxReplicas`},
	},
	"bounds for all": {
		bounds(nil, number(4), nil, number(6)), []string{udSubsets + ": at least one subset must have no maxReplicas"},
	},
	"bounds with decimals": {
		bounds(text("2.5%"), text("3.5%"), nil, nil), []string{udSubsets + `[0].minReplicas: "2.5%"`, udSubsets + `[0].maxReplicas: "3.5%"`},
	},
	"minReplicas 101%":     {bounds(text("101%"), nil, nil, nil), []string{udSubsets + `[0].minReplicas: "101%"`}},
	"maxReplicas negative": {bounds(nil, number(-1), nil, nil), []string{udSubsets + `[0].maxReplicas: "-1"`}},
	"bounds without a total": {
		func(s *udSpec) {
			bounds(number(2), nil, number(2), nil)(s)
			s.Replicas = nil
		}, []string{udSubsets + "[0].replicas: Required", udSubsets + "[1].replicas: Required"},
	},

	"scheduleStrategy": {
		func(s *udSpec) { s.Topology.ScheduleStrategy.Type = "Maybe" },
		[]string{`spec.topology.scheduleStrategy.type: "Maybe": supported values: "Fixed", "Adaptive"`},
	},
	"Adaptive": {adapt(apps.AdaptiveUnitedDeploymentStrategy{ReserveUnschedulablePods: true}), nil},
	"Adaptive with replicas": {
		func(s *udSpec) {
			s.Topology.ScheduleStrategy.Type, s.Topology.Subsets[1].Replicas = "Adaptive", number(1)
		}, []string{udSubsets + "[1].replicas: not supported with type Adaptive"},
	},
	"Adaptive with negative times": {
		adapt(apps.AdaptiveUnitedDeploymentStrategy{RescheduleCriticalSeconds: ptr.To[int32](-1), UnschedulableDuration: ptr.To[int32](-1)}),
		[]string{adaptive + "rescheduleCriticalSeconds: -1", adaptive + "unschedulableDuration: -1"},
	},
	"Adaptive StatefulSets": {
		func(s *udSpec) {
			nativeSet(s)
			adapt(apps.AdaptiveUnitedDeploymentStrategy{})(s)
		}, nil,
	},
	"reserved Pods of StatefulSets": {
		func(s *udSpec) {
			nativeSet(s)
			adapt(apps.AdaptiveUnitedDeploymentStrategy{ReserveUnschedulablePods: true})(s)
		}, []string{adaptive + "reserveUnschedulablePods: only supported with cloneSetTemplate or deploymentTemplate"},
	},
	"reserved Pods of Deployments": {
		func(s *udSpec) {
			deployment(s)
			adapt(apps.AdaptiveUnitedDeploymentStrategy{ReserveUnschedulablePods: true})(s)
		}, nil,
	},

	"updateStrategy": {
		func(s *udSpec) { s.UpdateStrategy.Type = "Maybe" }, []string{`spec.updateStrategy.type: "Maybe": supported values: "Manual"`},
	},
	"no manualUpdate":    {func(s *udSpec) { s.UpdateStrategy.ManualUpdate = nil }, nil},
	"partitions":         {partition("a", 2), nil},
	"partition negative": {partition("a", -2), []string{"spec.updateStrategy.manualUpdate.partitions[a]: -2"}},
	"partition of an unknown subset": {
		partition("c", 2), []string{"spec.updateStrategy.manualUpdate.partitions[c]: no subset has this name"},
	},
}

func bounds(values ...*intstr.IntOrString) func(*udSpec) {
	return func(s *udSpec) {
		s.Topology.Subsets[0].MinReplicas, s.Topology.Subsets[0].MaxReplicas = values[0], values[1]
		s.Topology.Subsets[1].MinReplicas, s.Topology.Subsets[1].MaxReplicas = values[2], values[3]
	}
}

func adapt(strategy apps.AdaptiveUnitedDeploymentStrategy) func(*udSpec) {
	return func(s *udSpec) {
		s.Topology.ScheduleStrategy = apps.UnitedDeploymentScheduleStrategy{Type: "Adaptive", Adaptive: &strategy}
	}
}

func partition(name string, value int32) func(*udSpec) {
	return func(s *udSpec) { s.UpdateStrategy.ManualUpdate.Partitions = map[string]int32{name: value} }
}

func changedUnitedDeployment(change func(*udSpec)) *apps.UnitedDeployment {
	united := validUnitedDeployment()
	change(&united.Spec)
	return united
}

// Cases uniteddeployment 4, 5, 7, 18, 20.
func TestUnitedDeploymentRules(t *testing.T) {
	for name, test := range unitedDeploymentCases {
		t.Run("create: "+name, func(t *testing.T) {
			rulestest.Create(t, changedUnitedDeployment(test.change), validation.ValidateUnitedDeployment, test.want)
		})
		t.Run("update that leaves: "+name, func(t *testing.T) {
			rulestest.UpdateOfLabels(t, changedUnitedDeployment(test.change), changedUnitedDeployment(test.change), validation.ValidateUnitedDeploymentUpdate)
		})
	}
}

// Cases uniteddeployment 8, 9, 10.
func TestUnitedDeploymentUpdate(t *testing.T) {
	type pair = func(old, united *udSpec)
	nodes := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: "Exists"}}}
	cases := map[string]struct {
		change pair
		want   []string
	}{
		"replicas":       {func(_, s *udSpec) { s.Replicas = ptr.To[int32](5) }, nil},
		"sets a mistake": {func(_, s *udSpec) { s.RevisionHistoryLimit = ptr.To[int32](-1) }, []string{"spec.revisionHistoryLimit: -1"}},
		"selector": {
			func(_, s *udSpec) {
				s.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Exists"}}}
			}, []string{"spec.selector: selector cannot be changed; put the stored one back, or create another UnitedDeployment"},
		},
		"another kind of template":     {func(_, s *udSpec) { nativeSet(s) }, nil},
		"from a StatefulSet":           {func(old, _ *udSpec) { nativeSet(old) }, nil},
		"from an advanced StatefulSet": {func(old, _ *udSpec) { advanced(old) }, nil},
		"to an advanced StatefulSet":   {func(_, s *udSpec) { advanced(s) }, nil},
		"a subset less":                {func(_, s *udSpec) { s.Topology.Subsets = s.Topology.Subsets[:1] }, nil},
		"nodes of a subset": {
			func(_, s *udSpec) { s.Topology.Subsets[1].NodeSelectorTerm = nodes },
			[]string{udSubsets + "[1].nodeSelectorTerm: cannot be changed; put the stored one back, or create another subset"},
		},
		"tolerations of a subset": {
			func(_, s *udSpec) {
				s.Topology.Subsets[1].Tolerations = []corev1.Toleration{{Key: "a", Operator: "Exists"}}
			},
			[]string{udSubsets + "[1].tolerations: cannot be changed"},
		},
		"nodes of a new subset in another place": {
			func(_, s *udSpec) {
				s.Topology.Subsets = []apps.Subset{{Name: "c", NodeSelectorTerm: nodes}, {Name: "a"}}
			}, nil,
		},
		"StatefulSet: service": {
			func(old, s *udSpec) { nativeSet(old).ServiceName, nativeSet(s).ServiceName = "a", "b" },
			[]string{udTemplate + "statefulSetTemplate.spec.serviceName: cannot be changed in this template"},
		},
		"StatefulSet: claims": {
			func(old, s *udSpec) {
				nativeSet(old)
				nativeSet(s).VolumeClaimTemplates = []corev1.PersistentVolumeClaim{claim("a", corev1.ReadWriteOnce)}
			}, []string{udTemplate + "statefulSetTemplate.spec.volumeClaimTemplates: cannot be changed in this template"},
		},
		"StatefulSet: revisionHistoryLimit": {
			func(old, s *udSpec) {
				nativeSet(old)
				nativeSet(s).RevisionHistoryLimit = ptr.To[int32](3)
			}, []string{udTemplate + "statefulSetTemplate.spec.revisionHistoryLimit: Forbidden"},
		},
		"StatefulSet: what may change": {
			func(old, s *udSpec) {
				nativeSet(old)
				spec := nativeSet(s)
				spec.Template.Spec.Containers[0].Image, spec.MinReadySeconds = "demo:v2", 5
				spec.UpdateStrategy.Type, spec.Ordinals = "OnDelete", &appsv1.StatefulSetOrdinals{Start: 1}
				spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
					WhenDeleted: "Delete", WhenScaled: "Retain",
				}
				spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "demo"}}
			}, nil,
		},
		"advanced StatefulSet: service": {
			func(old, s *udSpec) { advanced(old).ServiceName, advanced(s).ServiceName = "a", "b" },
			[]string{udTemplate + "advancedStatefulSetTemplate.spec.serviceName: cannot be changed"},
		},
		"advanced StatefulSet: a default is no change": {
			func(old, s *udSpec) {
				advanced(old)
				advanced(s).PodManagementPolicy = "OrderedReady"
			}, nil,
		},
		"advanced StatefulSet: another selector": {
			func(old, s *udSpec) {
				advanced(old)
				advanced(s).Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"x": "y"}}
			}, nil,
		},
		"advanced StatefulSet: claims": {
			func(old, s *udSpec) {
				advanced(old)
				advanced(s).VolumeClaimTemplates = []corev1.PersistentVolumeClaim{claim("a", corev1.ReadWriteOnce)}
			}, []string{udTemplate + "advancedStatefulSetTemplate.spec.volumeClaimTemplates: Forbidden"},
		},
		"advanced StatefulSet: settings": {
			func(old, s *udSpec) {
				advanced(old)
				spec := advanced(s)
				spec.RevisionHistoryLimit, spec.PodManagementPolicy = ptr.To[int32](3), "Parallel"
				spec.ReserveOrdinals = []intstr.IntOrString{intstr.FromInt32(1)}
			}, []string{
				udTemplate + "advancedStatefulSetTemplate.spec.revisionHistoryLimit: Forbidden",
				udTemplate + "advancedStatefulSetTemplate.spec.podManagementPolicy: Forbidden",
				udTemplate + "advancedStatefulSetTemplate.spec.reserveOrdinals: Forbidden",
			},
		},
		"advanced StatefulSet: what may change": {
			func(old, s *udSpec) {
				advanced(old)
				spec := advanced(s)
				spec.Template.Spec.Containers[0].Image, spec.UpdateStrategy.Type = "demo:v2", "OnDelete"
			}, nil,
		},
		"advanced StatefulSet: InPlaceOnly": {
			func(old, s *udSpec) {
				inPlace := &apps.RollingUpdateStatefulSetStrategy{PodUpdatePolicy: pub.InPlaceOnlyPodUpdatePolicy}
				advanced(old).UpdateStrategy.RollingUpdate = inPlace
				spec := advanced(s)
				spec.UpdateStrategy.RollingUpdate, spec.Template.Spec.HostNetwork = inPlace, true
			}, []string{udTemplate + "advancedStatefulSetTemplate.spec.template.spec.hostNetwork: InPlaceOnly"},
		},
		"CloneSet: InPlaceOnly": {
			func(old, s *udSpec) {
				for _, spec := range []*udSpec{old, s} {
					spec.Template.CloneSetTemplate.Spec.UpdateStrategy.RollingUpdate = &apps.RollingUpdateCloneSetStrategy{
						PodUpdatePolicy: pub.InPlaceOnlyPodUpdatePolicy,
					}
				}
				s.Template.CloneSetTemplate.Spec.Template.Spec.HostNetwork = true
			}, []string{udTemplate + "cloneSetTemplate.spec.template.spec.hostNetwork: InPlaceOnly"},
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			old, united := validUnitedDeployment(), validUnitedDeployment()
			test.change(&old.Spec, &united.Spec)
			rulestest.Errors(t, test.want, validation.ValidateUnitedDeploymentUpdate(united, old))
		})
	}
}

func TestUnitedDeploymentName(t *testing.T) {
	united := validUnitedDeployment()
	united.Name = "Not_DNS"
	rulestest.Errors(t, []string{`metadata.name: Invalid value: "Not_DNS"`}, validation.ValidateUnitedDeployment(united))
}

func TestUnitedDeploymentStatus(t *testing.T) {
	united := validUnitedDeployment()
	united.Status = apps.UnitedDeploymentStatus{Replicas: 3, CollisionCount: ptr.To[int32](1)}
	rulestest.Errors(t, nil, validation.ValidateUnitedDeploymentStatusUpdate(united, validUnitedDeployment()))
	old := united.DeepCopy()
	united.Status = apps.UnitedDeploymentStatus{
		ObservedGeneration: -1, Replicas: -1, ReadyReplicas: -1, UpdatedReplicas: -1, UpdatedReadyReplicas: -1, ReservedPods: -1,
		SubsetStatuses: []apps.UnitedDeploymentSubsetStatus{{Replicas: -1, ReadyReplicas: -1, Partition: -1, ReservedPods: -1}},
		CollisionCount: ptr.To[int32](0),
	}
	rulestest.Errors(t, []string{
		"status.observedGeneration: -1", "status.replicas: -1", "status.readyReplicas: -1", "status.updatedReplicas: -1",
		"status.updatedReadyReplicas: -1", "status.reservedPods: -1", "status.collisionCount: must not decrease",
		"status.subsetStatuses[0].replicas: -1", "status.subsetStatuses[0].readyReplicas: -1",
		"status.subsetStatuses[0].partition: -1", "status.subsetStatuses[0].reservedPods: -1",
	}, validation.ValidateUnitedDeploymentStatusUpdate(united, old))
}

func TestUnitedDeploymentErrorsInV1alpha1(t *testing.T) {
	united := changedUnitedDeployment(func(s *udSpec) {
		s.RevisionHistoryLimit = ptr.To[int32](-1)
		s.Template.CloneSetTemplate.Spec.UpdateStrategy.RollingUpdate = &apps.RollingUpdateCloneSetStrategy{MaxUnavailable: text("abc")}
	})
	errs := validation.ValidateUnitedDeployment(united)
	rulestest.Errors(t, []string{
		"spec.revisionHistoryLimit: -1", udTemplate + `cloneSetTemplate.spec.updateStrategy.maxUnavailable: "abc"`,
	}, validation.UnitedDeploymentErrorsIn("v1alpha1", errs))
	require.Equal(t, errs, validation.UnitedDeploymentErrorsIn("v1beta1", errs))
}
