package pod

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/sidecar"
)

// tokenPath is where kube-apiserver mounts the token of the service account. It adds the mount to containers without one.
const tokenPath = "/var/run/secrets/kubernetes.io/serviceaccount" //nolint:gosec // a path, not a credential

// injection is what the SidecarSets of one Pod add to it. build fills it without a change of the Pod, apply and
// record write it. So a refusal in build leaves no partial change.
type injection struct {
	// pod is the Pod before the injection.
	pod *corev1.Pod
	// sets are the SidecarSets in the order of their names, each in the version that is injected. No two have the same container.
	sets []*v1beta1.SidecarSet
	// sorted orders containers by name, whatever their SidecarSets.
	sorted bool
	// stored returns the stored revisions of a SidecarSet.
	stored func(*v1beta1.SidecarSet) []*appsv1.ControllerRevision

	// initContainers and containers are queued by build and placed by apply. volumes and secrets can contain
	// duplicates until then.
	initContainers, containers []placed
	volumes                    []corev1.Volume
	secrets                    []corev1.LocalObjectReference
	// used are the SidecarSets that add at least one container.
	used []*v1beta1.SidecarSet
	// versions are the annotations of hot upgrades. working names the container that works at first.
	versions, working map[string]string
}

// placed is a container and its place: before or after the containers of the Pod. Containers with the same place keep
// the order of the queue.
type placed struct {
	corev1.Container
	before bool
}

// build decides what is added. It returns a field.Error if the Pod does not allow it. It does not change the Pod.
func (in *injection) build() error {
	in.versions, in.working = map[string]string{}, map[string]string{}
	for _, set := range in.sets {
		for i := range set.Spec.InitContainers {
			if err := in.add(set, &set.Spec.InitContainers[i], initContainers); err != nil {
				return err
			}
		}
		for i := range set.Spec.Containers {
			if err := in.add(set, &set.Spec.Containers[i], containers); err != nil {
				return err
			}
		}
		if len(set.Spec.InitContainers)+len(set.Spec.Containers) > 0 {
			in.used = append(in.used, set)
			in.secrets = append(in.secrets, set.Spec.ImagePullSecrets...)
		}
	}
	byName := func(a, b placed) int { return strings.Compare(a.Name, b.Name) }
	// Init containers are always ordered by name, because they start one after the other and the order must not
	// depend on which SidecarSet comes first. Other containers keep the order of their SidecarSets, unless a feature
	// gate asks for names.
	slices.SortStableFunc(in.initContainers, byName)
	if in.sorted {
		slices.SortStableFunc(in.containers, byName)
	}
	return nil
}

// add builds a container of a SidecarSet, or the two of a hot upgrade. The order of the steps decides which value
// wins: the container's own mounts and variables come first, then what it shares or copies from the Pod, because
// addEnv and share never replace anything.
func (in *injection) add(set *v1beta1.SidecarSet, from *v1beta1.SidecarContainer, to list) error {
	// The SidecarSet is an object of the cache and must not change.
	built := from.Container.DeepCopy()
	// SidecarSets store this default only for their hashes. Pods of Windows must not set it.
	if security := built.SecurityContext; security != nil && ptr.Deref(security.ProcMount, "") == corev1.DefaultProcMount {
		security.ProcMount = nil
	}
	// Computed resources replace those of the container.
	if from.ResourcesPolicy != nil {
		resources, err := in.resources(from.ResourcesPolicy)
		if err != nil {
			return field.Invalid(field.NewPath("spec", "containers"), from.Name,
				fmt.Sprintf("the resources of this container of SidecarSet %s cannot be computed: %v", set.Name, err))
		}
		built.Resources = resources
	}
	in.queueVolumes(set, built)
	// Containers that an earlier injection added are not shared from, so a second call of the chain builds the same
	// container.
	apps := appContainers(in.pod)
	shared := share(built, from, apps)
	addEnv(built, corev1.EnvVar{Name: pub.SidecarInjectedEnv, Value: "true"})
	for _, variable := range transferred(in.pod, from.TransferEnv) {
		addEnv(built, variable)
	}
	for _, variable := range shared {
		addEnv(built, variable)
	}
	queue := &in.containers
	if to == initContainers {
		queue = &in.initContainers
	}
	// Revisions of early releases have no policy for init containers.
	before := from.PodInjectPolicy == v1beta1.BeforeAppContainerType || from.PodInjectPolicy == "" && to == containers
	// An init container that ends cannot be upgraded, so it has no second container.
	if !sidecar.Hot(from) || to == initContainers && !sidecar.KeepsRunning(from) {
		*queue = append(*queue, placed{*built, before})
		return nil
	}
	first, second := sidecar.Pair(from.Name)
	in.working[from.Name] = first
	// The first container runs the sidecar with version 1, the second one waits with the empty image and version 0.
	// An upgrade swaps the roles.
	*queue = append(*queue, placed{*in.versioned(built, first, built.Image, "1", "0"), before},
		placed{*in.versioned(built, second, from.UpgradeStrategy.HotUpgradeEmptyImage, "0", "1"), before})
	return nil
}

// versioned returns a container of a hot upgrade, and queues the annotations that its environment reads. The
// environment refers to annotations instead of values, because an environment of a running Pod cannot change and an
// annotation can. Variables with the reserved names are replaced.
func (in *injection) versioned(from *corev1.Container, name, image, version, versionAlt string) *corev1.Container {
	built := from.DeepCopy()
	built.Name, built.Image = name, image
	for _, v := range []struct{ env, prefix, value string }{
		{pub.SidecarSetVersionEnv, pub.SidecarSetVersionKeyPrefix, version},
		{pub.SidecarSetVersionAltEnv, pub.SidecarSetVersionAltKeyPrefix, versionAlt},
	} {
		in.versions[v.prefix+name] = v.value
		built.Env = slices.DeleteFunc(built.Env, func(own corev1.EnvVar) bool { return own.Name == v.env })
		built.Env = append(built.Env, corev1.EnvVar{Name: v.env, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{
			APIVersion: "v1", FieldPath: "metadata.annotations['" + v.prefix + name + "']",
		}}})
	}
	return built
}

// queueVolumes queues the volumes of the SidecarSet that the container itself uses. Volumes of shared mounts exist in
// the Pod. It runs before share, so the container has only its own mounts.
func (in *injection) queueVolumes(set *v1beta1.SidecarSet, container *corev1.Container) {
	queue := func(name string) {
		for i := range set.Spec.Volumes {
			if set.Spec.Volumes[i].Name == name {
				in.volumes = append(in.volumes, *set.Spec.Volumes[i].DeepCopy())
			}
		}
	}
	for i := range container.VolumeMounts {
		queue(container.VolumeMounts[i].Name)
	}
	for i := range container.VolumeDevices {
		queue(container.VolumeDevices[i].Name)
	}
}

// apply writes what was built into the Pod. A volume of the Pod with the same name stays, so the containers of the
// SidecarSet mount that one. Pull secrets of the Pod come first, and duplicates are dropped.
func (in *injection) apply(ctx context.Context, e *edit) {
	place(ctx, e, initContainers, in.initContainers)
	place(ctx, e, containers, in.containers)
	for i := range in.volumes {
		volume := &in.volumes[i]
		if !slices.ContainsFunc(e.pod.Spec.Volumes, func(own corev1.Volume) bool { return own.Name == volume.Name }) {
			e.addVolume(volume)
		}
	}
	if len(in.secrets) > 0 {
		var secrets []corev1.LocalObjectReference
		for _, secret := range slices.Concat(e.pod.Spec.ImagePullSecrets, in.secrets) {
			if !slices.Contains(secrets, secret) {
				secrets = append(secrets, secret)
			}
		}
		e.setPullSecrets(secrets)
	}
}

// place puts containers before and behind those of the Pod. A container with the name of one in the Pod takes its
// place. If the present one is equal, there is no operation, so a second call changes nothing. The user is warned if
// the replaced container was not injected.
func place(ctx context.Context, e *edit, in list, queue []placed) {
	// first counts the containers that were put before, so they keep the order of the queue.
	first := 0
	for i := range queue {
		container := &queue[i].Container
		index := slices.IndexFunc(*e.of(in), func(own corev1.Container) bool { return own.Name == container.Name })
		switch {
		case index >= 0 && same(&(*e.of(in))[index], container):
		case index >= 0:
			if !isInjected(&(*e.of(in))[index]) {
				warning.AddWarning(ctx, "", fmt.Sprintf("a SidecarSet replaces container %s of the Pod, because it has the same name",
					container.Name))
			}
			e.replace(in, index, container)
		case queue[i].before:
			e.insert(in, first, container)
			first++
		default:
			e.insert(in, len(*e.of(in)), container)
		}
	}
}

// same reports whether the Pod has the container already. In a second call, kube-apiserver may have added the mount
// of the token since the first one, and the launch order the variable of the barrier. Both are ignored, unless the SidecarSet
// itself has them.
func same(own, injected *corev1.Container) bool {
	own = own.DeepCopy()
	mounts := func(c *corev1.Container, path string) bool {
		return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == path })
	}
	if !mounts(injected, tokenPath) {
		own.VolumeMounts = slices.DeleteFunc(own.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == tokenPath })
	}
	if lastVariable(injected, pub.ContainerLaunchBarrierEnv) == nil {
		own.Env = slices.DeleteFunc(own.Env, func(v corev1.EnvVar) bool { return v.Name == pub.ContainerLaunchBarrierEnv })
	}
	return apiequality.Semantic.DeepEqual(own, injected)
}

// record writes the annotations that say what was injected. The controller of SidecarSets decides about upgrades from
// them alone. The two hash annotations have the same form; if only images differ between the SidecarSet and
// the Pod, the one without images is equal, and the Pod can be upgraded. A SidecarSet that only patches metadata has no entry.
func (in *injection) record(e *edit, now metav1.Time) error {
	for _, key := range []string{pub.SidecarSetHashKey, pub.SidecarSetHashWithoutImageKey} {
		records, err := sidecar.ReadRecords(e.pod.Annotations, key)
		if err != nil {
			return invalid(e.pod, field.Invalid(field.NewPath("metadata", "annotations").Key(key), e.pod.Annotations[key],
				"SidecarSets write this annotation, and its value is not valid; remove it"))
		}
		// The entries of SidecarSets that do not select the Pod now stay in the record.
		for _, set := range in.used {
			hash, withoutImage, err := sidecar.Hashes(set)
			if err != nil {
				return invalid(e.pod, err)
			}
			record := sidecar.NewRecord(set, withoutImage, "", now)
			if key == pub.SidecarSetHashKey {
				revision := sidecar.RevisionName(set, func() []*appsv1.ControllerRevision { return in.stored(set) })
				record = sidecar.NewRecord(set, hash, revision, now)
			}
			records.Put(record)
		}
		text, err := records.Encode()
		if err != nil {
			return invalid(e.pod, err)
		}
		e.annotate(key, text)
	}
	// The names in the list stay too: a copy of a Pod has the containers of those SidecarSets.
	names := sidecar.InjectedSets(e.pod)
	for _, set := range in.used {
		names = append(names, set.Name)
	}
	slices.Sort(names)
	e.annotate(pub.SidecarSetInjectedListKey, strings.Join(slices.Compact(names), ","))
	if len(in.working) == 0 {
		return nil
	}
	// Only Pods with hot upgrades have the annotations about the working container.
	text, err := sidecar.EncodeWorking(in.working)
	if err != nil {
		return invalid(e.pod, err)
	}
	e.annotate(pub.SidecarSetWorkingContainersKey, text)
	e.annotateAll(in.versions)
	return nil
}
