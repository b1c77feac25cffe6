package validation_test

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/pub"
)

var oneGi = resource.MustParse("1Gi")

const (
	rollingPath  = "spec.updateStrategy.rollingUpdate."
	templatePath = "spec.template.spec."
)

// specCases are the rules about a spec alone: a change to a valid CloneSet and the errors
// that it must bring, none when it is allowed.
var specCases = map[string]struct {
	change change
	want   []string
}{
	"valid": {},

	"replicas zero":     {func(s *apps.CloneSetSpec, _ *rolling) { s.Replicas = ptr.To[int32](0) }, nil},
	"replicas negative": {func(s *apps.CloneSetSpec, _ *rolling) { s.Replicas = ptr.To[int32](-1) }, []string{"spec.replicas: -1"}},

	"selector missing": {func(s *apps.CloneSetSpec, _ *rolling) { s.Selector = nil }, []string{"spec.selector: Required"}},
	"selector empty": {
		func(s *apps.CloneSetSpec, _ *rolling) { s.Selector = &metav1.LabelSelector{} },
		[]string{"spec.selector: empty selector is invalid for cloneset"},
	},
	"selector invalid": {
		func(s *apps.CloneSetSpec, _ *rolling) {
			s.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}}}
		},
		[]string{`spec.selector.matchExpressions[0].operator: "Near"`},
	},
	"selector by expression": {
		func(s *apps.CloneSetSpec, _ *rolling) {
			s.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"demo"}},
			}}
		}, nil,
	},
	"selector of other labels": {
		func(s *apps.CloneSetSpec, _ *rolling) { s.Template.Labels = map[string]string{"app": "other"} },
		[]string{"spec.template.metadata.labels: `selector` does not match template `labels`"},
	},

	"container name": {
		func(s *apps.CloneSetSpec, _ *rolling) { s.Template.Spec.Containers[0].Name = "Not_DNS" },
		[]string{templatePath + `containers[0].name: "Not_DNS"`},
	},
	"no containers": {
		func(s *apps.CloneSetSpec, _ *rolling) { s.Template.Spec.Containers = nil }, []string{templatePath + "containers: Required"},
	},
	"restartPolicy Always": {
		func(s *apps.CloneSetSpec, _ *rolling) { s.Template.Spec.RestartPolicy = corev1.RestartPolicyAlways }, nil,
	},
	"restartPolicy Never": {
		func(s *apps.CloneSetSpec, _ *rolling) { s.Template.Spec.RestartPolicy = corev1.RestartPolicyNever },
		[]string{templatePath + `restartPolicy: "Never": supported values: "Always"`},
	},
	"activeDeadlineSeconds": {
		func(s *apps.CloneSetSpec, _ *rolling) { s.Template.Spec.ActiveDeadlineSeconds = ptr.To[int64](5) },
		[]string{templatePath + "activeDeadlineSeconds: Forbidden"},
	},

	"mount of a claim": {
		func(s *apps.CloneSetSpec, _ *rolling) {
			s.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{claim("data", corev1.ReadWriteOnce)}
			mount(s, "data")
		}, nil,
	},
	"mount of nothing": {
		func(s *apps.CloneSetSpec, _ *rolling) { mount(s, "data") }, []string{templatePath + `containers[0].volumeMounts[0].name: "data"`},
	},
	"volume of the name of a claim is replaced": {
		func(s *apps.CloneSetSpec, _ *rolling) {
			s.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{claim("data", corev1.ReadWriteOnce)}
			s.Template.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}}}
			mount(s, "data")
		}, nil,
	},
	"own volume keeps its place": {
		func(s *apps.CloneSetSpec, _ *rolling) {
			s.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{claim("data", corev1.ReadWriteOnce)}
			s.Template.Spec.Volumes = []corev1.Volume{{Name: "data"}, {Name: "Bad_Name"}}
		}, []string{templatePath + `volumes[1].name: "Bad_Name"`},
	},
	"claim without a name": {
		func(s *apps.CloneSetSpec, _ *rolling) {
			s.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{claim("", corev1.ReadWriteOnce)}
		}, []string{"spec.volumeClaimTemplates[0].metadata.name: Required"},
	},
	"claim name": {
		func(s *apps.CloneSetSpec, _ *rolling) {
			s.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{claim("Bad_Name", corev1.ReadWriteOnce)}
		}, []string{`spec.volumeClaimTemplates[0].metadata.name: "Bad_Name"`},
	},
	"claim twice": {
		func(s *apps.CloneSetSpec, _ *rolling) {
			s.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{claim("a", corev1.ReadWriteOnce), claim("a", corev1.ReadWriteOnce)}
		}, []string{`spec.volumeClaimTemplates[1].metadata.name: Duplicate value: "a"`},
	},
	"claim without access modes": {
		func(s *apps.CloneSetSpec, _ *rolling) {
			s.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{claim("a")}
		},
		[]string{"spec.volumeClaimTemplates[0].spec.accessModes: Required"},
	},

	"podsToDelete": {func(s *apps.CloneSetSpec, _ *rolling) { s.ScaleStrategy.PodsToDelete = []string{"a", "b"} }, nil},
	"podsToDelete twice": {
		func(s *apps.CloneSetSpec, _ *rolling) { s.ScaleStrategy.PodsToDelete = []string{"a", "b", "a"} },
		[]string{`spec.scaleStrategy.podsToDelete[2]: Duplicate value: "a"`},
	},
	"podsToDelete empty name": {
		func(s *apps.CloneSetSpec, _ *rolling) { s.ScaleStrategy.PodsToDelete = []string{""} },
		[]string{"spec.scaleStrategy.podsToDelete[0]: Required"},
	},
	"scale maxUnavailable 0":   {func(s *apps.CloneSetSpec, _ *rolling) { s.ScaleStrategy.MaxUnavailable = number(0) }, nil},
	"scale maxUnavailable 10%": {func(s *apps.CloneSetSpec, _ *rolling) { s.ScaleStrategy.MaxUnavailable = text("10%") }, nil},
	"scale maxUnavailable negative": {
		func(s *apps.CloneSetSpec, _ *rolling) { s.ScaleStrategy.MaxUnavailable = number(-1) },
		[]string{`spec.scaleStrategy.maxUnavailable: "-1"`},
	},
	"scale maxUnavailable abc": {
		func(s *apps.CloneSetSpec, _ *rolling) { s.ScaleStrategy.MaxUnavailable = text("abc") },
		[]string{`spec.scaleStrategy.maxUnavailable: "abc"`},
	},

	"type": {
		func(s *apps.CloneSetSpec, _ *rolling) { s.UpdateStrategy.Type = "Sometimes" },
		[]string{`spec.updateStrategy.type: "Sometimes": supported values: "RollingUpdate", "OnDelete"`},
	},
	"OnDelete": {func(s *apps.CloneSetSpec, _ *rolling) {
		s.UpdateStrategy = apps.CloneSetUpdateStrategy{Type: "OnDelete"}
	}, nil},
	"OnDelete with a block": {func(s *apps.CloneSetSpec, _ *rolling) { s.UpdateStrategy.Type = "OnDelete" }, nil},
	"RollingUpdate without a block": {
		func(s *apps.CloneSetSpec, _ *rolling) { s.UpdateStrategy.RollingUpdate = nil },
		[]string{"spec.updateStrategy.rollingUpdate: Required"},
	},
	"podUpdatePolicy": {
		func(_ *apps.CloneSetSpec, r *rolling) { r.PodUpdatePolicy = "Maybe" },
		[]string{rollingPath + `podUpdatePolicy: "Maybe": supported values: "ReCreate", "InPlaceIfPossible", "InPlaceOnly"`},
	},
	"partition beyond replicas": {func(_ *apps.CloneSetSpec, r *rolling) { r.Partition = number(100) }, nil},
	"partition with decimals":   {func(_ *apps.CloneSetSpec, r *rolling) { r.Partition = text("0.5%") }, nil},
	"partition negative": {
		func(_ *apps.CloneSetSpec, r *rolling) { r.Partition = number(-1) }, []string{rollingPath + `partition: "-1"`},
	},
	"partition negative percentage": {
		func(_ *apps.CloneSetSpec, r *rolling) { r.Partition = text("-5%") }, []string{rollingPath + `partition: "-5%"`},
	},
	"partition of absurd length": {
		func(_ *apps.CloneSetSpec, r *rolling) { r.Partition = text("9999999999%") }, []string{rollingPath + `partition: "9999999999%"`},
	},
	"partition without %": {
		func(_ *apps.CloneSetSpec, r *rolling) { r.Partition = text("5") }, []string{rollingPath + `partition: "5": must be a non-negative`},
	},
	"maxUnavailable abc": {
		func(_ *apps.CloneSetSpec, r *rolling) { r.MaxUnavailable = text("abc") }, []string{rollingPath + `maxUnavailable: "abc"`},
	},
	"maxUnavailable without %": {
		func(_ *apps.CloneSetSpec, r *rolling) { r.MaxUnavailable = text("5") }, []string{rollingPath + `maxUnavailable: "5"`},
	},
	"maxUnavailable negative with a surge": {
		func(_ *apps.CloneSetSpec, r *rolling) { r.MaxUnavailable, r.MaxSurge = number(-1), number(1) },
		[]string{rollingPath + `maxUnavailable: "-1"`},
	},
	"maxSurge abc":      {func(_ *apps.CloneSetSpec, r *rolling) { r.MaxSurge = text("abc") }, []string{rollingPath + `maxSurge: "abc"`}},
	"maxSurge negative": {func(_ *apps.CloneSetSpec, r *rolling) { r.MaxSurge = number(-1) }, []string{rollingPath + `maxSurge: "-1"`}},
	"both 0": {
		func(_ *apps.CloneSetSpec, r *rolling) { r.MaxUnavailable = number(0) },
		[]string{rollingPath + "maxUnavailable: should not both be less than 1"},
	},
	"both 0%": {
		func(_ *apps.CloneSetSpec, r *rolling) { r.MaxUnavailable, r.MaxSurge = text("0%"), text("0%") },
		[]string{rollingPath + "maxUnavailable: should not both be less than 1"},
	},
	"both 0 without replicas": {
		func(s *apps.CloneSetSpec, r *rolling) { s.Replicas, r.MaxUnavailable = ptr.To[int32](0), number(0) }, nil,
	},
	"maxUnavailable 0 with a surge":   {func(_ *apps.CloneSetSpec, r *rolling) { r.MaxUnavailable, r.MaxSurge = number(0), number(1) }, nil},
	"maxUnavailable 1% is rounded up": {func(_ *apps.CloneSetSpec, r *rolling) { r.MaxUnavailable = text("1%") }, nil},
	"InPlaceOnly with a surge": {
		func(_ *apps.CloneSetSpec, r *rolling) { r.PodUpdatePolicy, r.MaxSurge = "InPlaceOnly", text("1%") },
		[]string{rollingPath + `maxSurge: "1%": must be 0 with InPlaceOnly`},
	},
	"InPlaceIfPossible with a surge": {
		func(_ *apps.CloneSetSpec, r *rolling) { r.PodUpdatePolicy, r.MaxSurge = "InPlaceIfPossible", number(1) }, nil,
	},

	"priority by weight": {func(_ *apps.CloneSetSpec, r *rolling) { r.PriorityStrategy = weights(0, 100) }, nil},
	"weight too small":   {func(_ *apps.CloneSetSpec, r *rolling) { r.PriorityStrategy = weights(-1) }, []string{rollingPath + "priorityStrategy.weightPriority[0].weight: -1"}},
	"weight too large":   {func(_ *apps.CloneSetSpec, r *rolling) { r.PriorityStrategy = weights(5, 101) }, []string{rollingPath + "priorityStrategy.weightPriority[1].weight: 101"}},
	"weight of an empty selector": {
		func(_ *apps.CloneSetSpec, r *rolling) {
			r.PriorityStrategy = weights(5)
			r.PriorityStrategy.WeightPriority[0].MatchSelector = metav1.LabelSelector{}
		}, []string{rollingPath + "priorityStrategy.weightPriority[0].matchSelector: Required"},
	},
	"weight of an invalid selector": {
		func(_ *apps.CloneSetSpec, r *rolling) {
			r.PriorityStrategy = weights(5)
			r.PriorityStrategy.WeightPriority[0].MatchSelector.MatchLabels = map[string]string{"a": "not valid"}
		}, []string{rollingPath + "priorityStrategy.weightPriority[0].matchSelector.matchLabels: \"not valid\""},
	},
	"priority by order": {func(_ *apps.CloneSetSpec, r *rolling) { r.PriorityStrategy = order("a") }, nil},
	"order without a key": {
		func(_ *apps.CloneSetSpec, r *rolling) { r.PriorityStrategy = order("a", "") },
		[]string{rollingPath + "priorityStrategy.orderPriority[1].orderedKey: Required"},
	},
	"weight and order": {
		func(_ *apps.CloneSetSpec, r *rolling) {
			r.PriorityStrategy = weights(5)
			r.PriorityStrategy.OrderPriority = order("a").OrderPriority
		}, []string{rollingPath + "priorityStrategy: are mutually exclusive"},
	},
	"scatter": {
		func(_ *apps.CloneSetSpec, r *rolling) {
			r.ScatterStrategy = []pub.UpdateScatterTerm{{Key: "a", Value: "1"}, {Key: "a", Value: "2"}}
		}, nil,
	},
	"scatter without a key": {
		func(_ *apps.CloneSetSpec, r *rolling) { r.ScatterStrategy = []pub.UpdateScatterTerm{{Value: "1"}} },
		[]string{rollingPath + "scatterStrategy[0].key: Required"},
	},
	"scatter twice": {
		func(_ *apps.CloneSetSpec, r *rolling) {
			r.ScatterStrategy = []pub.UpdateScatterTerm{{Key: "a", Value: "1"}, {Key: "a", Value: "1"}}
		},
		[]string{rollingPath + `scatterStrategy[1]: Duplicate value: "a=1"`},
	},

	"gracePeriodSeconds negative": {
		func(_ *apps.CloneSetSpec, r *rolling) {
			r.InPlaceUpdateStrategy = &apps.InPlaceUpdateStrategy{GracePeriodSeconds: -1}
		},
		[]string{rollingPath + "inPlaceUpdateStrategy.gracePeriodSeconds: -1"},
	},
	"pre-download": {
		func(_ *apps.CloneSetSpec, r *rolling) {
			r.InPlaceUpdateStrategy = &apps.InPlaceUpdateStrategy{
				ImagePreDownloadParallelism: number(0), ImagePreDownloadTimeoutSeconds: ptr.To[int32](0),
				ImagePreDownloadMinUpdatedReadyPods: number(0),
			}
		}, nil,
	},
	"pre-download minUpdatedReadyPods as percentage": {
		func(_ *apps.CloneSetSpec, r *rolling) {
			r.InPlaceUpdateStrategy = &apps.InPlaceUpdateStrategy{ImagePreDownloadMinUpdatedReadyPods: text("10%")}
		}, []string{rollingPath + `inPlaceUpdateStrategy.imagePreDownloadMinUpdatedReadyPods: "10%"`},
	},
	"pre-download parallelism as percentage": {
		func(_ *apps.CloneSetSpec, r *rolling) {
			r.InPlaceUpdateStrategy = &apps.InPlaceUpdateStrategy{ImagePreDownloadParallelism: text("5%")}
		}, []string{rollingPath + `inPlaceUpdateStrategy.imagePreDownloadParallelism: "5%"`},
	},
	"pre-download parallelism negative": {
		func(_ *apps.CloneSetSpec, r *rolling) {
			r.InPlaceUpdateStrategy = &apps.InPlaceUpdateStrategy{ImagePreDownloadParallelism: number(-1)}
		}, []string{rollingPath + `inPlaceUpdateStrategy.imagePreDownloadParallelism: "-1"`},
	},
	"pre-download timeout negative": {
		func(_ *apps.CloneSetSpec, r *rolling) {
			r.InPlaceUpdateStrategy = &apps.InPlaceUpdateStrategy{ImagePreDownloadTimeoutSeconds: ptr.To[int32](-1)}
		}, []string{rollingPath + "inPlaceUpdateStrategy.imagePreDownloadTimeoutSeconds: -1"},
	},
	"pre-download minUpdatedReadyPods negative": {
		func(_ *apps.CloneSetSpec, r *rolling) {
			r.InPlaceUpdateStrategy = &apps.InPlaceUpdateStrategy{ImagePreDownloadMinUpdatedReadyPods: number(-1)}
		}, []string{rollingPath + `inPlaceUpdateStrategy.imagePreDownloadMinUpdatedReadyPods: "-1"`},
	},

	"minReadySeconds negative": {func(s *apps.CloneSetSpec, _ *rolling) { s.MinReadySeconds = -1 }, []string{"spec.minReadySeconds: -1"}},
	"revisionHistoryLimit negative": {
		func(s *apps.CloneSetSpec, _ *rolling) { s.RevisionHistoryLimit = ptr.To[int32](-1) }, []string{"spec.revisionHistoryLimit: -1"},
	},
	"progressDeadlineSeconds": {
		func(s *apps.CloneSetSpec, _ *rolling) {
			s.MinReadySeconds, s.ProgressDeadlineSeconds = 5, ptr.To[int32](6)
		}, nil,
	},
	"progressDeadlineSeconds negative": {
		func(s *apps.CloneSetSpec, _ *rolling) { s.ProgressDeadlineSeconds = ptr.To[int32](-1) },
		[]string{"spec.progressDeadlineSeconds: must be greater than or equal to 0", "spec.progressDeadlineSeconds: must be greater than minReadySeconds"},
	},
	"progressDeadlineSeconds equals minReadySeconds": {
		func(s *apps.CloneSetSpec, _ *rolling) {
			s.MinReadySeconds, s.ProgressDeadlineSeconds = 5, ptr.To[int32](5)
		},
		[]string{"spec.progressDeadlineSeconds: must be greater than minReadySeconds"},
	},
	"progressDeadlineSeconds off": {
		func(s *apps.CloneSetSpec, _ *rolling) {
			s.MinReadySeconds, s.ProgressDeadlineSeconds = maxInt32, ptr.To[int32](maxInt32)
		}, nil,
	},
	"lifecycle is not judged": {
		func(s *apps.CloneSetSpec, _ *rolling) {
			s.Lifecycle = &pub.Lifecycle{PreDelete: &pub.LifecycleHook{LabelsHandler: map[string]string{"": ""}}}
		}, nil,
	},
}

type rolling = apps.RollingUpdateCloneSetStrategy

func mount(spec *apps.CloneSetSpec, volume string) {
	spec.Template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: volume, MountPath: "/data"}}
}

func weights(values ...int32) *pub.UpdatePriorityStrategy {
	strategy := &pub.UpdatePriorityStrategy{}
	for _, value := range values {
		strategy.WeightPriority = append(strategy.WeightPriority, pub.UpdatePriorityWeightTerm{
			Weight: value, MatchSelector: metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
		})
	}
	return strategy
}

func order(keys ...string) *pub.UpdatePriorityStrategy {
	strategy := &pub.UpdatePriorityStrategy{}
	for _, key := range keys {
		strategy.OrderPriority = append(strategy.OrderPriority, pub.UpdatePriorityOrderTerm{OrderedKey: key})
	}
	return strategy
}
