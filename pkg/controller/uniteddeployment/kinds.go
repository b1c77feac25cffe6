package uniteddeployment

import (
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
)

// rolls adds to the parts of a StatefulSet of either group what its rolling update has: the partition and maxUnavailable. rolling
// points at the field of the strategy, which may be nil. A nil field reads as partition 0. hold and maxUnavailable create it.
func rolls[R any](p *parts, rolling **R, partition func(*R) **int32, maxUnavailable func(*R) **intstr.IntOrString) {
	p.partition = func() int32 {
		if *rolling == nil || *partition(*rolling) == nil {
			return 0
		}
		return **partition(*rolling)
	}
	p.hold = func(value int32) { *partition(made(rolling)) = &value }
	p.maxUnavailable = func() **intstr.IntOrString { return maxUnavailable(made(rolling)) }
}

// statefulSets is the row of the StatefulSets of Kubernetes. With the strategy OnDelete there is no partition.
func statefulSets(deps controller.Deps) *typed[*appsv1.StatefulSet] {
	type rolling = appsv1.RollingUpdateStatefulSetStrategy
	return &typed[*appsv1.StatefulSet]{
		informer: deps.KubeInformers.Apps().V1().StatefulSets(),
		empty:    func() *appsv1.StatefulSet { return &appsv1.StatefulSet{} },
		template: func(template *v1beta1.SubsetTemplate, set *appsv1.StatefulSet) (*metav1.ObjectMeta, bool) {
			from := template.StatefulSetTemplate
			if from == nil {
				return nil, false
			}
			set.Spec = from.Spec
			return &from.ObjectMeta, true
		},
		parts: func(set *appsv1.StatefulSet) parts {
			spec, status := &set.Spec, &set.Status
			p := parts{
				replicas: &spec.Replicas, selector: &spec.Selector, template: &spec.Template,
				counts: counts{status.Replicas, status.ReadyReplicas, status.ObservedGeneration, status.UpdateRevision},
			}
			if spec.Ordinals != nil {
				p.first = spec.Ordinals.Start
			}
			if spec.UpdateStrategy.Type != appsv1.OnDeleteStatefulSetStrategyType {
				rolls(&p, &spec.UpdateStrategy.RollingUpdate, func(r *rolling) **int32 { return &r.Partition },
					func(r *rolling) **intstr.IntOrString { return &r.MaxUnavailable })
			}
			return p
		},
		client: func(namespace string) writer[*appsv1.StatefulSet] { return deps.Kube.AppsV1().StatefulSets(namespace) },
	}
}

// advancedStatefulSets is the row of the StatefulSets of this project. first stays 0, because only unblock reads it, and unblock is for
// StatefulSets of Kubernetes.
func advancedStatefulSets(deps controller.Deps) *typed[*v1beta1.StatefulSet] {
	type rolling = v1beta1.RollingUpdateStatefulSetStrategy
	return &typed[*v1beta1.StatefulSet]{
		informer: deps.KruiseInformers.Apps().V1beta1().StatefulSets(),
		empty:    func() *v1beta1.StatefulSet { return &v1beta1.StatefulSet{} },
		template: func(template *v1beta1.SubsetTemplate, set *v1beta1.StatefulSet) (*metav1.ObjectMeta, bool) {
			from := template.AdvancedStatefulSetTemplate
			if from == nil {
				return nil, false
			}
			set.Spec = from.Spec
			return &from.ObjectMeta, true
		},
		parts: func(set *v1beta1.StatefulSet) parts {
			spec, status := &set.Spec, &set.Status
			p := parts{
				replicas: &spec.Replicas, selector: &spec.Selector, template: &spec.Template,
				counts: counts{status.Replicas, status.ReadyReplicas, status.ObservedGeneration, status.UpdateRevision},
			}
			if spec.UpdateStrategy.Type != appsv1.OnDeleteStatefulSetStrategyType {
				rolls(&p, &spec.UpdateStrategy.RollingUpdate, func(r *rolling) **int32 { return &r.Partition },
					func(r *rolling) **intstr.IntOrString { return &r.MaxUnavailable })
			}
			return p
		},
		client: func(namespace string) writer[*v1beta1.StatefulSet] {
			return deps.Kruise.AppsV1beta1().StatefulSets(namespace)
		},
	}
}

// cloneSets is the row of the CloneSets. The controller always writes the partition as a number. A percentage, which another client
// wrote, is read as 0.
func cloneSets(deps controller.Deps) *typed[*v1beta1.CloneSet] {
	return &typed[*v1beta1.CloneSet]{
		informer: deps.KruiseInformers.Apps().V1beta1().CloneSets(),
		empty:    func() *v1beta1.CloneSet { return &v1beta1.CloneSet{} },
		template: func(template *v1beta1.SubsetTemplate, set *v1beta1.CloneSet) (*metav1.ObjectMeta, bool) {
			from := template.CloneSetTemplate
			if from == nil {
				return nil, false
			}
			set.Spec = from.Spec
			return &from.ObjectMeta, true
		},
		parts: func(set *v1beta1.CloneSet) parts {
			spec, status := &set.Spec, &set.Status
			p := parts{
				replicas: &spec.Replicas, selector: &spec.Selector, template: &spec.Template,
				counts: counts{status.Replicas, status.ReadyReplicas, status.ObservedGeneration, status.UpdateRevision},
			}
			if spec.UpdateStrategy.Type == v1beta1.OnDeleteCloneSetStrategyType {
				return p
			}
			rolling := &spec.UpdateStrategy.RollingUpdate
			p.partition = func() int32 {
				if *rolling == nil || (*rolling).Partition == nil || (*rolling).Partition.Type != intstr.Int {
					return 0
				}
				return (*rolling).Partition.IntVal
			}
			p.hold = func(partition int32) { made(rolling).Partition = new(intstr.FromInt32(partition)) }
			p.maxUnavailable = func() **intstr.IntOrString { return &made(rolling).MaxUnavailable }
			return p
		},
		client: func(namespace string) writer[*v1beta1.CloneSet] {
			return deps.Kruise.AppsV1beta1().CloneSets(namespace)
		},
	}
}

// deployments is the row of the Deployments. They have no partition. The status of a Deployment names no revision. With the strategy
// Recreate there is no maxUnavailable.
func deployments(deps controller.Deps) *typed[*appsv1.Deployment] {
	return &typed[*appsv1.Deployment]{
		informer: deps.KubeInformers.Apps().V1().Deployments(),
		empty:    func() *appsv1.Deployment { return &appsv1.Deployment{} },
		template: func(template *v1beta1.SubsetTemplate, deployment *appsv1.Deployment) (*metav1.ObjectMeta, bool) {
			from := template.DeploymentTemplate
			if from == nil {
				return nil, false
			}
			deployment.Spec = from.Spec
			return &from.ObjectMeta, true
		},
		parts: func(deployment *appsv1.Deployment) parts {
			spec, status := &deployment.Spec, &deployment.Status
			p := parts{
				replicas: &spec.Replicas, selector: &spec.Selector, template: &spec.Template,
				counts: counts{replicas: status.Replicas, ready: status.ReadyReplicas, observed: status.ObservedGeneration},
			}
			if spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
				p.maxUnavailable = func() **intstr.IntOrString { return &made(&spec.Strategy.RollingUpdate).MaxUnavailable }
			}
			return p
		},
		client: func(namespace string) writer[*appsv1.Deployment] { return deps.Kube.AppsV1().Deployments(namespace) },
	}
}
