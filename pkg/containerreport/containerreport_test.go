package containerreport_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/containerreport"
)

func field(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
}

// Case node-agent 17.
func TestVariablesOf(t *testing.T) {
	tests := map[string]struct {
		env  []corev1.EnvVar
		want []containerreport.Variable
	}{
		"none":                         {},
		"a literal":                    {env: []corev1.EnvVar{{Name: "A", Value: "metadata.labels['a']"}}},
		"the name of the Pod":          {env: []corev1.EnvVar{field("A", "metadata.name")}},
		"the version of a sidecar":     {env: []corev1.EnvVar{field("SIDECARSET_VERSION", "metadata.annotations['v']")}},
		"what an update itself writes": {env: []corev1.EnvVar{field("A", "metadata.labels['controller-revision-hash']")}},
		"sorted by name": {
			env: []corev1.EnvVar{field("B", "metadata.labels['x/y']"), field("A", "metadata.annotations['it''s']")},
			want: []containerreport.Variable{
				{Name: "A", Key: "it''s"}, {Name: "B", Label: true, Key: "x/y"},
			},
		},
		"the last of a name counts": {
			env: []corev1.EnvVar{field("A", "metadata.labels['a']"), {Name: "A", Value: "1"}, field("B", "metadata.labels['a']")},
			want: []containerreport.Variable{
				{Name: "B", Label: true, Key: "a"},
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, containerreport.VariablesOf(&corev1.Container{Env: tc.env}))
		})
	}
}

// A Pod can have thousands of variables, and is looked at often.
func TestVariablesOfManyTakesLinearTime(t *testing.T) {
	c := &corev1.Container{}
	for i := range 100000 {
		c.Env = append(c.Env, field(fmt.Sprint("V", i), "metadata.labels['a']"))
	}
	start := time.Now()
	assert.Len(t, containerreport.VariablesOf(c), 100000)
	assert.Less(t, time.Since(start), 5*time.Second)
}

func TestExpected(t *testing.T) {
	variables := []containerreport.Variable{{Name: "A", Label: true, Key: "k"}, {Name: "B", Key: "k"}}
	hash := func(label, annotation string) uint64 {
		return containerreport.Expected(variables, map[string]string{"k": label}, map[string]string{"k": annotation})
	}
	assert.Equal(t, hash("1", "2"), hash("1", "2"))
	assert.NotEqual(t, hash("1", "2"), hash("2", "1"))
	assert.NotEqual(t, hash("1", ""), hash("", "1"))
	assert.Equal(t, hash("", ""), containerreport.Expected(variables, nil, nil), "a key that is not there is empty")
	assert.NotZero(t, containerreport.Expected(nil, nil, nil), "zero is not known yet")
}

func TestRead(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	report, err := containerreport.Read(pod)
	require.NoError(t, err)
	assert.Nil(t, report.Find("main"))

	pod.Annotations = map[string]string{"apps.kruise.io/runtime-containers-meta": `{"containers":[{"name":"main","containerID":"containerd://A",
		"restartCount":1,"hashes":{"plainHash":7,"extractedEnvFromMetadataHash":8,"plainHashWithoutResources":9}}]}`}
	report, err = containerreport.Read(pod)
	require.NoError(t, err, "what other releases wrote is read")
	assert.Equal(t, &containerreport.Container{
		Name: "main", ContainerID: "containerd://A", RestartCount: 1,
		Hashes: containerreport.Hashes{PlainHash: 7, ExtractedEnvFromMetadataHash: 8},
	}, report.Find("main"))
	assert.Nil(t, report.Find("side"))

	pod.Annotations["apps.kruise.io/runtime-containers-meta"] = "{"
	_, err = containerreport.Read(pod)
	assert.ErrorContains(t, err, `Pod "p"`)
}

func TestReportThatIsTooLargeIsNotDecoded(t *testing.T) {
	pod := &metav1.ObjectMeta{Name: "p", Annotations: map[string]string{
		"apps.kruise.io/runtime-containers-meta": `{"containers":[` + strings.Repeat("{},", 20000) + `{}]}`,
	}}
	_, err := containerreport.Read(pod)
	require.ErrorContains(t, err, "more than any report has")
}
