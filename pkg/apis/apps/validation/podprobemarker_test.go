package validation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/validation"
	"kruise.io/kruise/pkg/apis/rules/rulestest"
)

func execProbe() apps.ContainerProbeSpec {
	return apps.ContainerProbeSpec{Probe: corev1.Probe{ProbeHandler: corev1.ProbeHandler{
		Exec: &corev1.ExecAction{Command: []string{"test"}},
	}}}
}

func httpGet(change func(*corev1.HTTPGetAction)) corev1.ProbeHandler {
	action := &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(80), Scheme: corev1.URISchemeHTTP}
	change(action)
	return corev1.ProbeHandler{HTTPGet: action}
}

func marker(change func(*apps.PodProbeMarkerSpec, *apps.PodContainerProbe)) *apps.PodProbeMarker {
	result := &apps.PodProbeMarker{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "default", ResourceVersion: "1"},
		Spec: apps.PodProbeMarkerSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "demo"}},
			Probes: []apps.PodContainerProbe{
				{
					Name: "idle", ContainerName: "main", Probe: execProbe(), PodConditionType: "game.io/idle",
					MarkerPolicy: []apps.ProbeMarkerPolicy{{State: apps.ProbeSucceeded, Labels: map[string]string{"idle": "yes"}}},
				},
				{Name: "other", ContainerName: "main", Probe: execProbe(), PodConditionType: "game.io/other"},
			},
		},
	}
	if change != nil {
		change(&result.Spec, &result.Spec.Probes[0])
	}
	return result
}

func large(bytes int) string { return strings.Repeat("x", bytes) }

const probePath = "spec.probes[0]."

// markerCases is the table of its rules.
var markerCases = map[string]struct {
	change func(*apps.PodProbeMarkerSpec, *apps.PodContainerProbe)
	want   []string
}{
	"valid": {},
	"command of 4 KiB": {func(_ *apps.PodProbeMarkerSpec, p *apps.PodContainerProbe) {
		p.Probe.Exec.Command = []string{large(4000)}
	}, nil},
	"command too large": {
		func(_ *apps.PodProbeMarkerSpec, p *apps.PodContainerProbe) {
			p.Probe.Exec.Command = []string{"sh", large(4096)}
		},
		[]string{"spec.probes[0]: Too many: 4114: must have at most 4096 bytes; shorten the name, the command, the path or the headers"},
	},
	"command of many empty words": {
		func(_ *apps.PodProbeMarkerSpec, p *apps.PodContainerProbe) {
			p.Probe.Exec.Command = make([]string, 100000)
		},
		[]string{"spec.probes[0]: Too many: 200012"},
	},
	"path too large": {
		func(_ *apps.PodProbeMarkerSpec, p *apps.PodContainerProbe) {
			p.Probe.ProbeHandler = httpGet(func(a *corev1.HTTPGetAction) { a.Path = "/" + large(4096) })
		}, []string{"spec.probes[0]: Too many: 4113"},
	},
	"headers too large": {
		func(_ *apps.PodProbeMarkerSpec, p *apps.PodContainerProbe) {
			p.Probe.ProbeHandler = httpGet(func(a *corev1.HTTPGetAction) { a.HTTPHeaders = []corev1.HTTPHeader{{Name: "a", Value: large(4096)}} })
		}, []string{"spec.probes[0]: Too many: 4118"},
	},
	"name too large": {
		func(_ *apps.PodProbeMarkerSpec, p *apps.PodContainerProbe) { p.Name = large(4096) }, []string{"spec.probes[0]: Too many: 4110"},
	},
	"selector missing": {func(s *apps.PodProbeMarkerSpec, _ *apps.PodContainerProbe) { s.Selector = nil }, []string{"spec.selector: Required"}},
	"selector empty": {
		func(s *apps.PodProbeMarkerSpec, _ *apps.PodContainerProbe) { s.Selector = &metav1.LabelSelector{} },
		[]string{"spec.selector: empty selector is not valid for PodProbeMarker"},
	},
	"selector invalid": {
		func(s *apps.PodProbeMarkerSpec, _ *apps.PodContainerProbe) {
			s.Selector.MatchLabels["app"] = "not valid"
		},
		[]string{"spec.selector.matchLabels: Invalid"},
	},
	"too many probes": {func(s *apps.PodProbeMarkerSpec, probe *apps.PodContainerProbe) {
		for i := range 99 {
			more := *probe
			more.Name, more.PodConditionType = fmt.Sprint("p", i), fmt.Sprint("game.io/p", i)
			s.Probes = append(s.Probes, more)
		}
	}, []string{"spec.probes: 101: must have at most 100 items"}},
	"no probes":                  {func(s *apps.PodProbeMarkerSpec, _ *apps.PodContainerProbe) { s.Probes = nil }, []string{"spec.probes: empty probes is not valid"}},
	"no name":                    {func(_ *apps.PodProbeMarkerSpec, p *apps.PodContainerProbe) { p.Name = "" }, []string{probePath + "name: probe name can't be empty"}},
	"name with #":                {func(_ *apps.PodProbeMarkerSpec, p *apps.PodContainerProbe) { p.Name = "a#b" }, []string{probePath + "name: probe name can't contains '#'"}},
	"name of PodScheduled":       {named("PodScheduled"), []string{probePath + "name: probe name can't be PodScheduled"}},
	"name of Initialized":        {named("Initialized"), []string{probePath + "name: probe name can't be Initialized"}},
	"name of Ready":              {named("Ready"), []string{probePath + "name: probe name can't be Ready"}},
	"name of ContainersReady":    {named("ContainersReady"), []string{probePath + "name: probe name can't be ContainersReady"}},
	"name of KruisePodReady":     {named("KruisePodReady"), []string{probePath + "name: probe name can't be KruisePodReady"}},
	"name of InPlaceUpdateReady": {named("InPlaceUpdateReady"), []string{probePath + "name: probe name can't be InPlaceUpdateReady"}},
	"a name twice":               {func(s *apps.PodProbeMarkerSpec, _ *apps.PodContainerProbe) { s.Probes[1].Name = "idle" }, []string{"spec.probes[1].name: probe name must be unique in PodProbeMarker"}},
	"no container": {
		func(_ *apps.PodProbeMarkerSpec, p *apps.PodContainerProbe) { p.ContainerName = "" },
		[]string{probePath + "containerName: probe containerName can't be empty"},
	},

	"no handler": {handled(corev1.ProbeHandler{}), []string{probePath + "probe: must specify a handler type"}},
	"two handlers": {
		handled(corev1.ProbeHandler{Exec: execProbe().Exec, TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(80)}}),
		[]string{probePath + "probe.tcpSocket: may not specify more than 1 handler type"},
	},
	"grpc":       {handled(corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 80}}), []string{probePath + "probe.grpc: must specify a handler type"}},
	"no command": {handled(corev1.ProbeHandler{Exec: &corev1.ExecAction{}}), []string{probePath + "probe.exec.command: Required"}},
	"tcpSocket":  {handled(corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString("http")}}), nil},
	"tcpSocket.host": {
		handled(corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(80), Host: "x"}}),
		[]string{probePath + "probe.tcpSocket.host: host field in probes is not allowed"},
	},
	"port": {
		handled(corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(70000)}}),
		[]string{probePath + "probe.tcpSocket.port: 70000"},
	},
	"name of a port": {
		handled(corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString("Not_IANA")}}),
		[]string{probePath + "probe.tcpSocket.port: Not_IANA"},
	},
	"httpGet":              {handled(httpGet(func(*corev1.HTTPGetAction) {})), nil},
	"httpGet by HTTPS":     {handled(httpGet(func(a *corev1.HTTPGetAction) { a.Scheme = "HTTPS" })), nil},
	"httpGet empty scheme": {handled(httpGet(func(a *corev1.HTTPGetAction) { a.Scheme = "" })), nil},
	"httpGet scheme":       {handled(httpGet(func(a *corev1.HTTPGetAction) { a.Scheme = "http" })), []string{probePath + "probe.httpGet.scheme: Unsupported"}},
	"httpGet host": {
		handled(httpGet(func(a *corev1.HTTPGetAction) { a.Host = "x" })),
		[]string{probePath + "probe.httpGet.host: host field in probes is not allowed"},
	},
	"httpGet no path": {handled(httpGet(func(a *corev1.HTTPGetAction) { a.Path = "" })), []string{probePath + "probe.httpGet.path: Required"}},
	"httpGet bad path": {
		handled(httpGet(func(a *corev1.HTTPGetAction) { a.Path = "/%zz" })),
		[]string{probePath + "probe.httpGet.path: must be a valid URL path"},
	},
	"httpGet port": {handled(httpGet(func(a *corev1.HTTPGetAction) { a.Port = intstr.FromInt32(0) })), []string{probePath + "probe.httpGet.port: 0"}},
	"httpGet header": {
		handled(httpGet(func(a *corev1.HTTPGetAction) { a.HTTPHeaders = []corev1.HTTPHeader{{Name: "a b"}} })),
		[]string{probePath + "probe.httpGet.httpHeaders: a b"},
	},
	"negative numbers": {
		func(_ *apps.PodProbeMarkerSpec, p *apps.PodContainerProbe) {
			p.Probe.InitialDelaySeconds, p.Probe.TimeoutSeconds, p.Probe.PeriodSeconds = -1, -1, -1
			p.Probe.SuccessThreshold, p.Probe.FailureThreshold = -1, -1
		}, []string{
			probePath + "probe.initialDelaySeconds: -1", probePath + "probe.timeoutSeconds: -1", probePath + "probe.periodSeconds: -1",
			probePath + "probe.successThreshold: -1", probePath + "probe.failureThreshold: -1",
		},
	},
	"terminationGracePeriodSeconds": {
		func(_ *apps.PodProbeMarkerSpec, p *apps.PodContainerProbe) {
			p.Probe.TerminationGracePeriodSeconds = ptr.To[int64](-5)
		}, nil,
	},

	"condition alone": {func(_ *apps.PodProbeMarkerSpec, p *apps.PodContainerProbe) { p.MarkerPolicy = nil }, nil},
	"policy alone":    {func(_ *apps.PodProbeMarkerSpec, p *apps.PodContainerProbe) { p.PodConditionType = "" }, nil},
	"neither": {
		func(_ *apps.PodProbeMarkerSpec, p *apps.PodContainerProbe) {
			p.PodConditionType, p.MarkerPolicy = "", nil
		},
		[]string{probePath + "podConditionType: podConditionType and markerPolicy cannot be empty at the same time"},
	},
	"condition twice": {
		func(s *apps.PodProbeMarkerSpec, _ *apps.PodContainerProbe) {
			s.Probes[1].PodConditionType = "game.io/idle"
		},
		[]string{"spec.probes[1].podConditionType: podConditionType game.io/idle must be unique in podProbeMarker"},
	},
	"condition of the kubelet": {
		func(_ *apps.PodProbeMarkerSpec, p *apps.PodContainerProbe) { p.PodConditionType = "Ready" },
		[]string{probePath + "podConditionType: this condition is reserved"},
	},
	"condition is no name": {
		func(_ *apps.PodProbeMarkerSpec, p *apps.PodContainerProbe) { p.PodConditionType = "not valid" },
		[]string{probePath + "podConditionType: not valid"},
	},

	"two policies": {policies(
		apps.ProbeMarkerPolicy{State: apps.ProbeSucceeded, Labels: map[string]string{"a": "1"}},
		apps.ProbeMarkerPolicy{State: apps.ProbeFailed, Annotations: map[string]string{"a": "0"}},
	), nil},
	"a state twice": {policies(
		apps.ProbeMarkerPolicy{State: apps.ProbeFailed, Labels: map[string]string{"a": "1"}},
		apps.ProbeMarkerPolicy{State: apps.ProbeFailed, Labels: map[string]string{"a": "0"}},
	), []string{probePath + "markerPolicy[1].state: marker policy state must be unique"}},
	"state True":   {policies(apps.ProbeMarkerPolicy{State: "True", Labels: map[string]string{"a": "1"}}), []string{probePath + `markerPolicy[0].state: "Succeeded", "Failed"`}},
	"empty policy": {policies(apps.ProbeMarkerPolicy{State: apps.ProbeFailed}), []string{probePath + "markerPolicy[0]: marker policy annotations or labels can't be both empty"}},
	"bad label":    {policies(apps.ProbeMarkerPolicy{State: apps.ProbeFailed, Labels: map[string]string{"a b": "1"}}), []string{probePath + "markerPolicy[0].labels: a b"}},
	"bad annotation": {
		policies(apps.ProbeMarkerPolicy{State: apps.ProbeFailed, Annotations: map[string]string{"a b": "1"}}),
		[]string{probePath + "markerPolicy[0].annotations: a b"},
	},
}

func named(name string) func(*apps.PodProbeMarkerSpec, *apps.PodContainerProbe) {
	return func(_ *apps.PodProbeMarkerSpec, p *apps.PodContainerProbe) { p.Name = name }
}

func handled(handler corev1.ProbeHandler) func(*apps.PodProbeMarkerSpec, *apps.PodContainerProbe) {
	return func(_ *apps.PodProbeMarkerSpec, p *apps.PodContainerProbe) { p.Probe.ProbeHandler = handler }
}

func policies(policies ...apps.ProbeMarkerPolicy) func(*apps.PodProbeMarkerSpec, *apps.PodContainerProbe) {
	return func(_ *apps.PodProbeMarkerSpec, p *apps.PodContainerProbe) { p.MarkerPolicy = policies }
}

// Case podprobemarker 8.
func TestPodProbeMarker(t *testing.T) {
	for name, test := range markerCases {
		t.Run(name, func(t *testing.T) {
			created := marker(test.change)
			rulestest.Create(t, created, validation.ValidatePodProbeMarker, test.want)
			rulestest.UpdateOfLabels(t, created, marker(test.change), validation.ValidatePodProbeMarkerUpdate)
		})
	}
}

// Case podprobemarker 7.
func TestPodProbeMarkerUpdate(t *testing.T) {
	changed := marker(func(s *apps.PodProbeMarkerSpec, _ *apps.PodContainerProbe) { s.Selector.MatchLabels["app"] = "other" })
	rulestest.Errors(t, []string{"spec.selector: selector must be immutable"}, validation.ValidatePodProbeMarkerUpdate(changed, marker(nil)))

	changed = marker(func(s *apps.PodProbeMarkerSpec, _ *apps.PodContainerProbe) { s.Probes = s.Probes[1:] })
	rulestest.Errors(t, nil, validation.ValidatePodProbeMarkerUpdate(changed, marker(nil)))

	changed = marker(named("a#b"))
	rulestest.Errors(t, []string{probePath + "name: '#'"}, validation.ValidatePodProbeMarkerUpdate(changed, marker(nil)))
}

func TestPodProbeMarkerNameAndStatus(t *testing.T) {
	created := marker(nil)
	created.Name = "Not_DNS"
	rulestest.Errors(t, []string{"metadata.name: Not_DNS"}, validation.ValidatePodProbeMarker(created))

	written := marker(nil)
	written.Status = apps.PodProbeMarkerStatus{ObservedGeneration: -1, MatchedPods: -1}
	rulestest.Errors(t, []string{"status.observedGeneration: -1", "status.matchedPods: -1"},
		validation.ValidatePodProbeMarkerStatusUpdate(written, marker(nil)))
	rulestest.Errors(t, nil, validation.ValidatePodProbeMarkerStatusUpdate(written, written))
}

func TestNodePodProbe(t *testing.T) {
	probes := &apps.NodePodProbe{ObjectMeta: metav1.ObjectMeta{Name: "node-a.example", ResourceVersion: "1"}}
	rulestest.Errors(t, nil, validation.ValidateNodePodProbe(probes))
	rulestest.Errors(t, nil, validation.ValidateNodePodProbeUpdate(probes, probes))

	renamed := probes.DeepCopy()
	renamed.Name = "Not_DNS"
	rulestest.Errors(t, []string{"metadata.name: Not_DNS"}, validation.ValidateNodePodProbe(renamed))
	rulestest.Errors(t, []string{"metadata.name: immutable"}, validation.ValidateNodePodProbeUpdate(renamed, probes))
}

func TestLongListThatIsStoredStaysValid(t *testing.T) {
	old := marker(func(s *apps.PodProbeMarkerSpec, probe *apps.PodContainerProbe) {
		for i := range 150 {
			more := *probe
			more.Name, more.PodConditionType = fmt.Sprint("p", i), fmt.Sprint("game.io/p", i)
			s.Probes = append(s.Probes, more)
		}
	})
	changed := old.DeepCopy()
	changed.Spec.Probes[0].Probe.PeriodSeconds++
	assert.Empty(t, validation.ValidatePodProbeMarkerUpdate(changed, old))
	changed.Spec.Probes = append(changed.Spec.Probes, changed.Spec.Probes[0])
	last := &changed.Spec.Probes[len(changed.Spec.Probes)-1]
	last.Name, last.PodConditionType = "more", "game.io/more"
	assert.NotEmpty(t, validation.ValidatePodProbeMarkerUpdate(changed, old))
}

// A marker that was stored before the limit can become smaller or stay as it is, but not grow.
func TestStoredProbeThatIsTooLarge(t *testing.T) {
	of := func(bytes int) *apps.PodProbeMarker {
		return marker(func(_ *apps.PodProbeMarkerSpec, p *apps.PodContainerProbe) {
			p.Probe.Exec.Command = []string{large(bytes)}
		})
	}
	assert.Empty(t, validation.ValidatePodProbeMarkerUpdate(of(9000), of(9000)))
	assert.Empty(t, validation.ValidatePodProbeMarkerUpdate(of(8000), of(9000)))
	assert.NotEmpty(t, validation.ValidatePodProbeMarkerUpdate(of(9001), of(9000)))
	other := of(9000)
	other.Spec.Probes[1].Probe.Exec.Command = []string{large(9000)}
	assert.NotEmpty(t, validation.ValidatePodProbeMarkerUpdate(other, of(9000)), "another probe")
}
