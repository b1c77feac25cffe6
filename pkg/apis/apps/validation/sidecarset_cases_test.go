package validation_test

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/pub"
)

const (
	agentPath  = "spec.containers[0]."
	updatePath = "spec.updateStrategy."
)

// sidecarCases are the rules about a SidecarSet alone: a change to a valid one and the errors that it
// must bring, none when it is allowed.
var sidecarCases = map[string]struct {
	change sidecarChange
	want   []string
}{
	"valid": {},

	"selector missing": {onSpec(func(s *apps.SidecarSetSpec) { s.Selector = nil }), []string{"spec.selector: Required"}},
	"selector empty": {
		onSpec(func(s *apps.SidecarSetSpec) { s.Selector = &metav1.LabelSelector{} }),
		[]string{"spec.selector: empty selector is not valid for SidecarSet"},
	},
	"selector invalid": {onSpec(func(s *apps.SidecarSetSpec) { s.Selector = invalidSelector() }), []string{"spec.selector.matchLabels: not valid"}},

	"namespace":         {onSpec(func(s *apps.SidecarSetSpec) { s.Namespace = "ns1" }), nil},
	"namespace invalid": {onSpec(func(s *apps.SidecarSetSpec) { s.Namespace = "Not_DNS" }), []string{"spec.namespace: Not_DNS"}},
	"namespaceSelector": {onSpec(func(s *apps.SidecarSetSpec) { s.NamespaceSelector = someSelector() }), nil},
	"namespaceSelector empty": {
		onSpec(func(s *apps.SidecarSetSpec) { s.NamespaceSelector = &metav1.LabelSelector{} }),
		[]string{"spec.namespaceSelector: empty selector is not valid"},
	},
	"namespaceSelector invalid": {
		onSpec(func(s *apps.SidecarSetSpec) { s.NamespaceSelector = invalidSelector() }),
		[]string{"spec.namespaceSelector.matchLabels: not valid"},
	},
	"namespace and namespaceSelector": {
		onSpec(func(s *apps.SidecarSetSpec) { s.Namespace, s.NamespaceSelector = "ns1", someSelector() }),
		[]string{"spec.namespace: mutually exclusive"},
	},

	"no containers": {
		onSpec(func(s *apps.SidecarSetSpec) { s.Containers = nil }),
		[]string{"spec.containers: no initContainer or container defined"},
	},
	"init containers alone": {
		onSpec(func(s *apps.SidecarSetSpec) {
			s.Containers, s.InitContainers = nil, []apps.SidecarContainer{sidecar("init")}
		}), nil,
	},
	"init container that keeps running": {
		onSpec(func(s *apps.SidecarSetSpec) { s.InitContainers = []apps.SidecarContainer{native("init")} }),
		[]string{"spec.initContainers[0].restartPolicy: in-place upgrade of initContainers is not supported"},
	},
	"container that says that it keeps running": {
		onContainer(func(c *apps.SidecarContainer) { *c = native("agent") }), nil,
	},
	"init container that keeps running, never upgraded": {
		onSpec(func(s *apps.SidecarSetSpec) {
			s.InitContainers, s.UpdateStrategy.Type = []apps.SidecarContainer{native("init")}, apps.NotUpdateSidecarSetStrategyType
		}), nil,
	},

	"core: no image":     {onContainer(func(c *apps.SidecarContainer) { c.Image = "" }), []string{agentPath + "image: Required"}},
	"core: a name twice": {onContainer(func(c *apps.SidecarContainer) { c.Name = "other" }), []string{"spec.containers[1].name: Duplicate"}},
	"core: a name in both lists": {
		onSpec(func(s *apps.SidecarSetSpec) { s.InitContainers = []apps.SidecarContainer{sidecar("agent")} }),
		[]string{"spec.initContainers[0].name: Duplicate"},
	},
	"core: a volume of its own": {
		func(s *apps.SidecarSetSpec, c *apps.SidecarContainer) {
			s.Volumes = []corev1.Volume{{Name: "data"}}
			c.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
		}, nil,
	},
	"core: a volume that is not there": {
		onContainer(func(c *apps.SidecarContainer) {
			c.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
		}),
		[]string{agentPath + "volumeMounts[0].name: data"},
	},
	"core: a volume without a name": {onSpec(func(s *apps.SidecarSetSpec) { s.Volumes = []corev1.Volume{{}} }), []string{"spec.volumes[0].name: Required"}},
	"core: a service account token": {
		func(s *apps.SidecarSetSpec, c *apps.SidecarContainer) {
			s.Volumes = []corev1.Volume{{Name: "token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
				Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{
					Path: "token", ExpirationSeconds: ptr.To[int64](3600),
				}}},
			}}}}
			c.VolumeMounts = []corev1.VolumeMount{{Name: "token", MountPath: "/token"}}
		}, nil,
	},

	"podInjectPolicy":   {onContainer(func(c *apps.SidecarContainer) { c.PodInjectPolicy = "Maybe" }), []string{agentPath + "podInjectPolicy: Maybe"}},
	"shareVolumePolicy": {onContainer(func(c *apps.SidecarContainer) { c.ShareVolumePolicy.Type = "Maybe" }), []string{agentPath + "shareVolumePolicy.type: Maybe"}},
	"shareVolumeDevicePolicy": {
		onContainer(func(c *apps.SidecarContainer) { c.ShareVolumeDevicePolicy = &apps.ShareVolumePolicy{Type: "Maybe"} }),
		[]string{agentPath + "shareVolumeDevicePolicy.type: Maybe"},
	},
	"shares":      {onContainer(func(c *apps.SidecarContainer) { c.ShareVolumeDevicePolicy = &apps.ShareVolumePolicy{Type: "enabled"} }), nil},
	"upgradeType": {onContainer(func(c *apps.SidecarContainer) { c.UpgradeStrategy.UpgradeType = "Maybe" }), []string{agentPath + "upgradeStrategy.upgradeType: Maybe"}},

	"hot": {onContainer(func(c *apps.SidecarContainer) { *c = hot("agent") }), nil},
	"hot without an empty image": {
		onContainer(func(c *apps.SidecarContainer) { *c = hot("agent"); c.UpgradeStrategy.HotUpgradeEmptyImage = "" }),
		[]string{agentPath + "upgradeStrategy.hotUpgradeEmptyImage: Required"},
	},
	"hot init container that ends": {
		onSpec(func(s *apps.SidecarSetSpec) {
			s.InitContainers = []apps.SidecarContainer{hot("init")}
			s.InitContainers[0].UpgradeStrategy.HotUpgradeEmptyImage = ""
		}), nil,
	},
	"hot: the second name is taken": {
		onSpec(func(s *apps.SidecarSetSpec) { s.Containers = []apps.SidecarContainer{hot("agent"), sidecar("agent-2")} }),
		[]string{"spec.containers[1].name: one of these names belongs to container agent"},
	},
	"hot: the second name is taken before": {
		onSpec(func(s *apps.SidecarSetSpec) { s.Containers = []apps.SidecarContainer{sidecar("agent-1"), hot("agent")} }),
		[]string{"spec.containers[1].name: one of these names belongs to container agent-1"},
	},
	"hot: a long name":     {onContainer(func(c *apps.SidecarContainer) { *c = hot(strings.Repeat("a", 61)) }), nil},
	"hot: too long a name": {onContainer(func(c *apps.SidecarContainer) { *c = hot(strings.Repeat("a", 62)) }), []string{agentPath + "name: Too long"}},
	"hot: a name that core refuses": {
		onContainer(func(c *apps.SidecarContainer) { *c = hot(strings.Repeat("a", 64)) }), []string{agentPath + "name: must be no more than 63"},
	},
	"cold: as long a name": {onContainer(func(c *apps.SidecarContainer) { *c = sidecar(strings.Repeat("a", 63)) }), nil},

	"transferEnv from a label":        {transfer("v1", "metadata.labels['biz']"), nil},
	"transferEnv from an annotation":  {transfer("v1", "metadata.annotations['Example.com/Biz']"), nil},
	"transferEnv without apiVersion":  {transfer("", "metadata.labels['biz']"), []string{agentPath + "transferEnv[0].sourceContainerNameFrom.fieldRef.apiVersion: Required"}},
	"transferEnv of another version":  {transfer("v2", "metadata.labels['biz']"), []string{agentPath + "transferEnv[0].sourceContainerNameFrom.fieldRef.apiVersion: v2"}},
	"transferEnv without fieldPath":   {transfer("v1", ""), []string{agentPath + "transferEnv[0].sourceContainerNameFrom.fieldRef.fieldPath: Required"}},
	"transferEnv from the name":       {transfer("v1", "metadata.name"), []string{agentPath + "transferEnv[0].sourceContainerNameFrom.fieldRef.fieldPath: metadata.name"}},
	"transferEnv from all labels":     {transfer("v1", "metadata.labels"), []string{agentPath + "transferEnv[0].sourceContainerNameFrom.fieldRef.fieldPath: metadata.labels"}},
	"transferEnv from an invalid key": {transfer("v1", "metadata.labels['a b']"), []string{agentPath + "transferEnv[0].sourceContainerNameFrom.fieldRef.fieldPath: a b"}},
	"transferEnv from nothing": {
		onContainer(func(c *apps.SidecarContainer) {
			c.TransferEnv = []apps.TransferEnvVar{{SourceContainerNameFrom: &apps.SourceContainerNameSource{}, EnvName: "A"}}
		}), nil,
	},
	"transferEnv by name": {
		onContainer(func(c *apps.SidecarContainer) {
			c.TransferEnv = []apps.TransferEnvVar{{SourceContainerName: "main", EnvName: "A"}}
		}), nil,
	},

	"resourcesPolicy": {policy(func(*apps.ResourcesPolicy, *apps.SidecarContainer) {}), nil},
	"resourcesPolicy of requests, for all containers": {
		policy(func(p *apps.ResourcesPolicy, _ *apps.SidecarContainer) {
			p.TargetContainersNameRegex, p.ResourcesExpr = nil, apps.ResourcesExpr{Requests: &apps.ResourceExprs{CPU: "cpu * 50%"}}
		}), nil,
	},
	"resourcesPolicy of an init container that keeps running": {
		func(s *apps.SidecarSetSpec, c *apps.SidecarContainer) {
			policy(func(*apps.ResourcesPolicy, *apps.SidecarContainer) {})(s, c)
			init := native("init")
			init.ResourcesPolicy, c.ResourcesPolicy = c.ResourcesPolicy, nil
			s.InitContainers, s.UpdateStrategy.Type = []apps.SidecarContainer{init}, apps.NotUpdateSidecarSetStrategyType
		}, nil,
	},
	"resourcesPolicy and resources": {
		policy(func(_ *apps.ResourcesPolicy, c *apps.SidecarContainer) {
			c.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: oneGi}
		}),
		[]string{agentPath + "resourcesPolicy: mutually exclusive"},
	},
	"resourcesPolicy mode": {
		policy(func(p *apps.ResourcesPolicy, _ *apps.SidecarContainer) { p.TargetContainersMode = "" }),
		[]string{agentPath + `resourcesPolicy.targetContainersMode: "sum", "max"`},
	},
	"resourcesPolicy empty regex": {
		policy(func(p *apps.ResourcesPolicy, _ *apps.SidecarContainer) { p.TargetContainersNameRegex = new("") }),
		[]string{agentPath + "resourcesPolicy.targetContainersNameRegex: must not be empty"},
	},
	"resourcesPolicy bad regex": {
		policy(func(p *apps.ResourcesPolicy, _ *apps.SidecarContainer) { p.TargetContainersNameRegex = new("(") }),
		[]string{agentPath + "resourcesPolicy.targetContainersNameRegex: missing closing )"},
	},
	"resourcesPolicy without expressions": {
		policy(func(p *apps.ResourcesPolicy, _ *apps.SidecarContainer) { p.ResourcesExpr = apps.ResourcesExpr{} }),
		[]string{agentPath + "resourcesPolicy.resourcesExpr: Required"},
	},
	"resourcesPolicy bad expressions": {
		policy(func(p *apps.ResourcesPolicy, _ *apps.SidecarContainer) {
			p.ResourcesExpr.Limits = &apps.ResourceExprs{CPU: "cpu *", Memory: "disk"}
			p.ResourcesExpr.Requests = &apps.ResourceExprs{CPU: "cpu / 0", Memory: "memory * memory"}
		}), []string{
			agentPath + "resourcesPolicy.resourcesExpr.limits.cpu: ends", agentPath + "resourcesPolicy.resourcesExpr.limits.memory: disk",
			agentPath + "resourcesPolicy.resourcesExpr.requests.cpu: zero", agentPath + "resourcesPolicy.resourcesExpr.requests.memory: cannot multiply",
		},
	},
	"resourcesPolicy expressions of the other resource": {
		policy(func(p *apps.ResourcesPolicy, _ *apps.SidecarContainer) {
			p.ResourcesExpr.Limits = &apps.ResourceExprs{CPU: "Memory", Memory: "max(memory, cpu)"}
		}), []string{
			agentPath + `resourcesPolicy.resourcesExpr.limits.cpu: "Memory" is not a value`,
			agentPath + `resourcesPolicy.resourcesExpr.limits.memory: "cpu" is not a value`,
		},
	},
	"resourcesPolicy expressions that are tried with 1": {
		policy(func(p *apps.ResourcesPolicy, _ *apps.SidecarContainer) {
			p.ResourcesExpr.Limits = &apps.ResourceExprs{CPU: "cpu - 1", Memory: "memory - 100Mi"}
			p.ResourcesExpr.Requests = &apps.ResourceExprs{CPU: "CPU*1.5e1%", Memory: "max(Memory - 100Mi, 0)"}
		}), []string{agentPath + "resourcesPolicy.resourcesExpr.limits.memory: with 1 for memory, the value is negative"},
	},
	"resourcesPolicy of an init container": {
		func(s *apps.SidecarSetSpec, c *apps.SidecarContainer) {
			policy(func(*apps.ResourcesPolicy, *apps.SidecarContainer) {})(s, c)
			init := sidecar("init")
			init.ResourcesPolicy, c.ResourcesPolicy = c.ResourcesPolicy, nil
			s.InitContainers = []apps.SidecarContainer{init}
		}, []string{"spec.initContainers[0].resourcesPolicy: restartPolicy Always"},
	},

	"never updated": {onSpec(func(s *apps.SidecarSetSpec) { s.UpdateStrategy.Type = apps.NotUpdateSidecarSetStrategyType }), nil},
	"update type":   {onSpec(func(s *apps.SidecarSetSpec) { s.UpdateStrategy.Type = "OnDelete" }), []string{updatePath + "type: OnDelete"}},
	"update selector empty": {
		onSpec(func(s *apps.SidecarSetSpec) { s.UpdateStrategy.Selector = &metav1.LabelSelector{} }), []string{updatePath + "selector: empty selector is not valid"},
	},
	"update selector invalid": {
		onSpec(func(s *apps.SidecarSetSpec) { s.UpdateStrategy.Selector = invalidSelector() }), []string{updatePath + "selector.matchLabels: not valid"},
	},
	"update selector": {onSpec(func(s *apps.SidecarSetSpec) { s.UpdateStrategy.Selector = someSelector() }), nil},
	"update selector without a partition": {
		onSpec(func(s *apps.SidecarSetSpec) {
			s.UpdateStrategy.Selector, s.UpdateStrategy.Partition = someSelector(), nil
		}), nil,
	},
	"update selector and a number": {
		onSpec(func(s *apps.SidecarSetSpec) {
			s.UpdateStrategy.Selector, s.UpdateStrategy.Partition = someSelector(), number(1)
		}),
		[]string{updatePath + "partition: cannot be used together"},
	},
	"update selector and a percentage": {
		onSpec(func(s *apps.SidecarSetSpec) {
			s.UpdateStrategy.Selector, s.UpdateStrategy.Partition = someSelector(), text("0%")
		}),
		[]string{updatePath + "partition: cannot be used together"},
	},
	"partition":           {onSpec(func(s *apps.SidecarSetSpec) { s.UpdateStrategy.Partition = text("90%") }), nil},
	"partition negative":  {onSpec(func(s *apps.SidecarSetSpec) { s.UpdateStrategy.Partition = number(-1) }), []string{updatePath + "partition: -1"}},
	"partition as text":   {onSpec(func(s *apps.SidecarSetSpec) { s.UpdateStrategy.Partition = text("5") }), []string{updatePath + `partition: "5"`}},
	"maxUnavailable zero": {onSpec(func(s *apps.SidecarSetSpec) { s.UpdateStrategy.MaxUnavailable = number(0) }), nil},
	"maxUnavailable":      {onSpec(func(s *apps.SidecarSetSpec) { s.UpdateStrategy.MaxUnavailable = text("abc") }), []string{updatePath + "maxUnavailable: abc"}},
	"a strategy that is not used": {
		onSpec(func(s *apps.SidecarSetSpec) {
			s.UpdateStrategy = apps.SidecarSetUpdateStrategy{
				Type: apps.NotUpdateSidecarSetStrategyType, Partition: number(-1), Selector: someSelector(),
				ScatterStrategy: []pub.UpdateScatterTerm{{}},
			}
		}), nil,
	},
	"priority: both kinds": {
		onSpec(func(s *apps.SidecarSetSpec) {
			s.UpdateStrategy.PriorityStrategy = weights(5)
			s.UpdateStrategy.PriorityStrategy.OrderPriority = order("a").OrderPriority
		}), []string{updatePath + "priorityStrategy: are mutually exclusive"},
	},
	"priority: weight": {onSpec(func(s *apps.SidecarSetSpec) { s.UpdateStrategy.PriorityStrategy = weights(0, 101) }), []string{updatePath + "priorityStrategy.weightPriority[1].weight: 101"}},
	"priority: order":  {onSpec(func(s *apps.SidecarSetSpec) { s.UpdateStrategy.PriorityStrategy = order("") }), []string{updatePath + "priorityStrategy.orderPriority[0].orderedKey: Required"}},
	"scatter: no key":  {onSpec(func(s *apps.SidecarSetSpec) { s.UpdateStrategy.ScatterStrategy = []pub.UpdateScatterTerm{{Value: "1"}} }), []string{updatePath + "scatterStrategy[0].key: Required"}},
	"scatter: twice": {
		onSpec(func(s *apps.SidecarSetSpec) {
			s.UpdateStrategy.ScatterStrategy = []pub.UpdateScatterTerm{{Key: "a", Value: "*"}, {Key: "a", Value: "*"}}
		}), []string{updatePath + "scatterStrategy[1]: Duplicate"},
	},

	"revision by name":    {pinned(&apps.SidecarSetInjectRevision{RevisionName: new("demo-1"), Policy: "Always"}), nil},
	"revision by version": {pinned(&apps.SidecarSetInjectRevision{CustomVersion: new("v1"), Policy: "Partial"}), nil},
	"revision by nothing": {
		pinned(&apps.SidecarSetInjectRevision{CustomVersion: new("")}), []string{"spec.injectionStrategy.revision: cannot both be empty"},
	},
	"revision policy": {
		pinned(&apps.SidecarSetInjectRevision{CustomVersion: new("v1"), Policy: "Maybe"}), []string{"spec.injectionStrategy.revision.policy: Maybe"},
	},

	"annotations": {patched(apps.SidecarSetPatchPodMetadata{Annotations: map[string]string{"Example.com/A": "x"}, PatchPolicy: "Retain"}), nil},
	"no annotations": {
		patched(apps.SidecarSetPatchPodMetadata{PatchPolicy: "Retain"}), []string{"spec.patchPodMetadata[0].annotations: Required"},
	},
	"bad annotation": {
		patched(apps.SidecarSetPatchPodMetadata{Annotations: map[string]string{"a b": "x"}, PatchPolicy: "Retain"}),
		[]string{"spec.patchPodMetadata[0].annotations[a b]: a b"},
	},
	"annotation twice": {
		patched(
			apps.SidecarSetPatchPodMetadata{Annotations: map[string]string{"a": "x"}, PatchPolicy: "Retain"},
			apps.SidecarSetPatchPodMetadata{Annotations: map[string]string{"a": "y"}, PatchPolicy: "Overwrite"},
		), []string{"spec.patchPodMetadata[1].annotations[a]: Duplicate"},
	},
	"annotations too large": {
		patched(apps.SidecarSetPatchPodMetadata{Annotations: map[string]string{"a": strings.Repeat("x", 1<<18)}, PatchPolicy: "Retain"}),
		[]string{"spec.patchPodMetadata: Too long"},
	},
	"patchPolicy": {
		patched(apps.SidecarSetPatchPodMetadata{Annotations: map[string]string{"a": "x"}}), []string{"spec.patchPodMetadata[0].patchPolicy: Unsupported"},
	},
	"JSON": {patched(apps.SidecarSetPatchPodMetadata{Annotations: map[string]string{"a": `{"b":1}`}, PatchPolicy: "MergePatchJson"}), nil},
	"no JSON": {
		patched(apps.SidecarSetPatchPodMetadata{Annotations: map[string]string{"a": "x"}, PatchPolicy: "MergePatchJson"}),
		[]string{"spec.patchPodMetadata[0].annotations[a]: must be JSON"},
	},

	"customVersion":      {onSpec(func(s *apps.SidecarSetSpec) { s.CustomVersion = "v1" }), nil},
	"customVersion text": {onSpec(func(s *apps.SidecarSetSpec) { s.CustomVersion = "not a label" }), []string{"spec.customVersion: not a label"}},
	"revisionHistoryLimit is not judged": {
		onSpec(func(s *apps.SidecarSetSpec) { s.RevisionHistoryLimit = ptr.To[int32](-1) }), nil,
	},
}

func onSpec(change func(*apps.SidecarSetSpec)) sidecarChange {
	return func(s *apps.SidecarSetSpec, _ *apps.SidecarContainer) { change(s) }
}

func onContainer(change func(*apps.SidecarContainer)) sidecarChange {
	return func(_ *apps.SidecarSetSpec, c *apps.SidecarContainer) { change(c) }
}

func transfer(version, path string) sidecarChange {
	return onContainer(func(c *apps.SidecarContainer) {
		c.TransferEnv = []apps.TransferEnvVar{{SourceContainerNameFrom: &apps.SourceContainerNameSource{
			FieldRef: &corev1.ObjectFieldSelector{APIVersion: version, FieldPath: path},
		}}}
	})
}

func policy(change func(*apps.ResourcesPolicy, *apps.SidecarContainer)) sidecarChange {
	return onContainer(func(c *apps.SidecarContainer) {
		c.ResourcesPolicy = &apps.ResourcesPolicy{
			TargetContainersMode: apps.TargetContainersModeSum, TargetContainersNameRegex: new(".*"),
			ResourcesExpr: apps.ResourcesExpr{Limits: &apps.ResourceExprs{CPU: "max(cpu * 50%, 100m)"}},
		}
		change(c.ResourcesPolicy, c)
	})
}

func pinned(revision *apps.SidecarSetInjectRevision) sidecarChange {
	return onSpec(func(s *apps.SidecarSetSpec) { s.InjectionStrategy.Revision = revision })
}

func patched(patches ...apps.SidecarSetPatchPodMetadata) sidecarChange {
	return onSpec(func(s *apps.SidecarSetSpec) { s.PatchPodMetadata = patches })
}

func someSelector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}}
}

func invalidSelector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"env": "not valid"}}
}
