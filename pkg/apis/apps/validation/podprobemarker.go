package validation

import (
	"fmt"
	"net/url"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/podtemplate"
)

// reservedProbeNames are conditions of Pods that a probe must not be named for.
var reservedProbeNames = sets.New(
	"PodScheduled", "Initialized", "Ready", "ContainersReady",
	pub.KruisePodReadyConditionType, pub.InPlaceUpdateReadyConditionType,
)

// reservedConditions are conditions of Pods that Kubernetes or Kruise write: a probe must not
// write them too.
var reservedConditions = reservedProbeNames.Union(sets.New(
	"DisruptionTarget", "PodReadyToStartContainers", "PodResizePending", "PodResizeInProgress",
	pub.SidecarSetUpgradableConditionType, pub.SidecarTerminatedConditionType,
))

// ValidatePodProbeMarker checks a new PodProbeMarker.
func ValidatePodProbeMarker(marker *apps.PodProbeMarker) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&marker.ObjectMeta, true, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	return append(errs, validatePodProbeMarkerSpec(&marker.Spec, field.NewPath("spec"))...)
}

// ValidatePodProbeMarkerUpdate checks an update of a PodProbeMarker.
func ValidatePodProbeMarkerUpdate(marker, old *apps.PodProbeMarker) field.ErrorList {
	spec := field.NewPath("spec")
	errs := replaced(marker, old, func(one *apps.PodProbeMarker) field.ErrorList {
		return validatePodProbeMarkerSpec(&one.Spec, spec)
	})
	if !apiequality.Semantic.DeepEqual(marker.Spec.Selector, old.Spec.Selector) {
		errs = append(errs, field.Forbidden(spec.Child("selector"),
			"selector must be immutable; put the stored one back, or create another PodProbeMarker"))
	}
	return errs
}

// ValidatePodProbeMarkerStatusUpdate checks an update of a status.
func ValidatePodProbeMarkerStatusUpdate(marker, old *apps.PodProbeMarker) field.ErrorList {
	status := field.NewPath("status")
	return replaced(marker, old, func(one *apps.PodProbeMarker) field.ErrorList {
		return validatePodProbeMarkerStatus(&one.Status, status)
	})
}

func validatePodProbeMarkerStatus(status *apps.PodProbeMarkerStatus, path *field.Path) field.ErrorList {
	errs := notNegative(status.ObservedGeneration, path.Child("observedGeneration"))
	return append(errs, notNegative(status.MatchedPods, path.Child("matchedPods"))...)
}

func validatePodProbeMarkerSpec(spec *apps.PodProbeMarkerSpec, path *field.Path) field.ErrorList {
	errs := validateSelecting("PodProbeMarker", spec.Selector, path.Child("selector"))
	probes := path.Child("probes")
	if len(spec.Probes) == 0 {
		errs = append(errs, field.Required(probes, "empty probes is not valid for PodProbeMarker; add a probe"))
	}
	errs = append(errs, atMost(len(spec.Probes), probes)...)
	names, conditions := sets.New[string](), sets.New[string]()
	for i := range spec.Probes {
		probe, at := &spec.Probes[i], probes.Index(i)
		errs = append(errs, validateProbeName(probe.Name, names, at.Child("name"))...)
		if probe.ContainerName == "" {
			errs = append(errs, field.Required(at.Child("containerName"),
				"probe containerName can't be empty in PodProbeMarker; name the container to probe"))
		}
		errs = append(errs, validateContainerProbe(&probe.Probe, at.Child("probe"))...)
		errs = append(errs, atMostBytes(probeSize(probe), maxProbeBytes,
			"shorten the name, the command, the path or the headers of this probe, for example with a script in the image", at)...)
		errs = append(errs, validateProbeCondition(probe, conditions, at)...)
		errs = append(errs, validateMarkerPolicies(probe.MarkerPolicy, at.Child("markerPolicy"))...)
	}
	return errs
}

func validateProbeName(name string, seen sets.Set[string], path *field.Path) field.ErrorList {
	defer seen.Insert(name)
	switch {
	case name == "":
		return field.ErrorList{field.Required(path, "probe name can't be empty in PodProbeMarker")}
	case seen.Has(name):
		return field.ErrorList{repeated(path, name, "probe name must be unique in PodProbeMarker")}
	case strings.Contains(name, "#"):
		return field.ErrorList{field.Invalid(path, name, "probe name can't contains '#'; use a name without '#'")}
	case reservedProbeNames.Has(name):
		return field.ErrorList{field.Invalid(path, name,
			fmt.Sprintf("probe name can't be %s, a condition that every Pod has; use another name", name))}
	}
	return nil
}

// repeated is the error of a value that an item before has.
func repeated(path *field.Path, value any, rule string) *field.Error {
	err := field.Duplicate(path, value)
	err.Detail = rule
	return err
}

// validateContainerProbe adds rules to those of core, because the node agent supports less than a kubelet.
// terminationGracePeriodSeconds has no effect and is not checked. An empty scheme is HTTP.
func validateContainerProbe(probe *apps.ContainerProbeSpec, path *field.Path) field.ErrorList {
	judged := probe.Probe
	judged.TerminationGracePeriodSeconds = nil
	errs := podtemplate.ValidateProbe(&judged, path)
	if probe.GRPC != nil {
		errs = append(errs, field.Forbidden(path.Child("grpc"), "must specify a handler type of exec, tcpSocket or httpGet"))
	}
	const noHost = "host field in probes is not allowed, because probes go to the Pod; remove it"
	if probe.TCPSocket != nil && probe.TCPSocket.Host != "" {
		errs = append(errs, field.Forbidden(path.Child("tcpSocket", "host"), noHost))
	}
	if probe.HTTPGet == nil {
		return errs
	}
	at := path.Child("httpGet")
	if probe.HTTPGet.Host != "" {
		errs = append(errs, field.Forbidden(at.Child("host"), noHost))
	}
	if probe.HTTPGet.Path == "" {
		return append(errs, field.Required(at.Child("path"), "set the path of the request, such as /"))
	}
	if _, err := url.Parse(probe.HTTPGet.Path); err != nil {
		errs = append(errs, field.Invalid(at.Child("path"), probe.HTTPGet.Path, "must be a valid URL path"))
	}
	return errs
}

func validateProbeCondition(probe *apps.PodContainerProbe, seen sets.Set[string], path *field.Path) field.ErrorList {
	condition, at := probe.PodConditionType, path.Child("podConditionType")
	if condition == "" {
		if len(probe.MarkerPolicy) == 0 {
			return field.ErrorList{field.Required(at, "podConditionType and markerPolicy cannot be empty at the same time")}
		}
		return nil
	}
	defer seen.Insert(condition)
	if seen.Has(condition) {
		return field.ErrorList{repeated(at, condition, "podConditionType "+condition+" must be unique in podProbeMarker")}
	}
	if reservedConditions.Has(condition) {
		return field.ErrorList{field.Invalid(at, condition, "this condition is reserved for Kubernetes or Kruise; use another type")}
	}
	var errs field.ErrorList
	for _, message := range validation.IsQualifiedName(condition) {
		errs = append(errs, field.Invalid(at, condition, message))
	}
	return errs
}

func validateMarkerPolicies(policies []apps.ProbeMarkerPolicy, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[apps.ProbeState]()
	for i := range policies {
		policy, at := &policies[i], path.Index(i)
		switch {
		case policy.State != apps.ProbeSucceeded && policy.State != apps.ProbeFailed:
			errs = append(errs, field.NotSupported(at.Child("state"), policy.State, []apps.ProbeState{apps.ProbeSucceeded, apps.ProbeFailed}))
		case seen.Has(policy.State):
			errs = append(errs, repeated(at.Child("state"), policy.State, "marker policy state must be unique"))
		}
		seen.Insert(policy.State)
		if len(policy.Labels)+len(policy.Annotations) == 0 {
			errs = append(errs, field.Required(at, "marker policy annotations or labels can't be both empty"))
		}
		errs = append(errs, metav1validation.ValidateLabels(policy.Labels, at.Child("labels"))...)
		errs = append(errs, apivalidation.ValidateAnnotations(policy.Annotations, at.Child("annotations"))...)
	}
	return errs
}
