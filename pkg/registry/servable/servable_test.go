package servable_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/registry/servable"
)

// sample has a field of each kind of type. The fields have no tags, like those of hub types.
type sample struct {
	metav1.ObjectMeta
	inner

	Amount      intstr.IntOrString
	HTTPPort    *intstr.IntOrString
	ByName      map[string]intstr.IntOrString
	Resource    runtime.RawExtension
	At          metav1.Time
	Precisely   *metav1.MicroTime
	Limits      corev1.ResourceList
	Data        []byte
	Number      int32
	UID         string
	PodIPs      []string
	Template    corev1.PodTemplateSpec
	Children    []sample
	Other       runtime.Object
	PortsByName map[string]*[]intstr.IntOrString
}

type inner struct{ Phase string }

func seconds(n int64) metav1.Time { return metav1.Time{Time: time.Unix(n, 0)} }

func TestValidate(t *testing.T) {
	odd := intstr.IntOrString{Type: 7}
	deep := func(levels int) []byte { return []byte(strings.Repeat(`[`, levels) + strings.Repeat(`]`, levels)) }
	for name, test := range map[string]struct {
		change func(*sample)
		want   string
	}{
		"nothing set": {func(*sample) {}, ""},
		"all as it should be": {func(s *sample) {
			s.Amount, s.HTTPPort = intstr.FromString("20%"), new(intstr.FromInt32(3))
			s.Labels, s.Annotations = map[string]string{"a": "b"}, map[string]string{"ä": "ö"}
			s.Resource.Raw, s.Data = []byte(`{"a":["[\"{",null]}`), []byte{0xff}
			s.At, s.Precisely = metav1.Now(), new(metav1.NowMicro())
			s.Limits = corev1.ResourceList{"cpu": resource.MustParse("1")}
			s.Children = []sample{{Number: 3, PodIPs: []string{"1.1.1.1"}}}
		}, ""},
		"number or text of a third type": {func(s *sample) { s.Amount = odd },
			`amount: Invalid value: "type 7": must be an integer (type 0) or a string (type 1)`},
		"behind a pointer": {func(s *sample) { s.HTTPPort = &odd }, `httpPort: Invalid value: "type 7"`},
		"in a map":         {func(s *sample) { s.ByName = map[string]intstr.IntOrString{"x": odd} }, `byName[x]: Invalid value: "type 7"`},
		"in a list": {func(s *sample) { s.PortsByName = map[string]*[]intstr.IntOrString{"x": {{}, odd}} },
			`portsByName[x][1]: Invalid value: "type 7"`},
		"in a type that holds itself": {func(s *sample) { s.Children = []sample{{}, {Amount: odd}} }, `children[1].amount: Invalid value: "type 7"`},
		"in core's template": {func(s *sample) {
			s.Template.Spec.Containers = []corev1.Container{{LivenessProbe: &corev1.Probe{
				ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: odd}},
			}}}
		}, `template.spec.containers[0].livenessProbe.httpGet.port: Invalid value: "type 7"`},
		"text of a number or text": {func(s *sample) { s.Amount = intstr.FromString("\xff") }, `amount: Invalid value: "\xff": must be valid UTF-8`},
		"text": {func(s *sample) { s.UID = "a\xc3" },
			`uid: Invalid value: "a\xc3": must be valid UTF-8; encode binary data in base64`},
		"text of an embedded type": {func(s *sample) { s.PodIPs = []string{"", "\xff"} }, `podIPs[1]: Invalid value: "\xff"`},
		"metadata":                 {func(s *sample) { s.Annotations = map[string]string{"a": "\xff"} }, `metadata.annotations[a]: Invalid value: "\xff"`},
		"key":                      {func(s *sample) { s.Limits = corev1.ResourceList{"\xff": {}} }, `limits: Invalid value: "\xff": a key must be valid UTF-8`},
		"the last second":          {func(s *sample) { s.At = seconds(253402300799) }, ""},
		"a second after it": {func(s *sample) { s.At = seconds(253402300800) },
			`at: Invalid value: 253402300800: must be a time in the years 0 to 9999, in seconds since 1970`},
		"the first second":        {func(s *sample) { s.At = seconds(-62167219200) }, ""},
		"a second before it":      {func(s *sample) { s.At = seconds(-62167219201) }, `at: Invalid value: -62167219201`},
		"a second that overflows": {func(s *sample) { s.At = seconds(1 << 62) }, `at: Invalid value: 4611686018427387904`},
		"a precise time":          {func(s *sample) { s.Precisely = &metav1.MicroTime{Time: time.Unix(1<<40, 0)} }, `precisely: Invalid value: 1099511627776`},
		"no JSON":                 {func(s *sample) { s.Resource.Raw = []byte(`{"a":`) }, `resource: Invalid value: "{\"a\":": must be valid JSON in UTF-8`},
		"no bytes at all":         {func(s *sample) { s.Resource.Raw = []byte{} }, `resource: Invalid value: "": must be valid JSON in UTF-8`},
		"JSON with other bytes": {func(s *sample) { s.Resource.Raw = []byte("\"\xff\"") },
			`resource: Invalid value: "\"\xff\"": must be valid JSON in UTF-8`},
		"a long text": {func(s *sample) { s.Resource.Raw = []byte(strings.Repeat("x", 999)) }, strings.Repeat("x", 60) + `…": must be valid JSON`},
		"deep JSON":   {func(s *sample) { s.Resource.Raw = deep(1000) }, ""},
		"deeper":      {func(s *sample) { s.Resource.Raw = deep(1001) }, `must not be nested more than 1000 levels deep`},
		"owned fields": {func(s *sample) {
			s.Template.ManagedFields = []metav1.ManagedFieldsEntry{{FieldsV1: metav1.NewFieldsV1("{")}}
		}, `template.metadata.managedFields[0].fieldsV1: Invalid value: "{": must be valid JSON in UTF-8`},
		"when they were": {func(s *sample) {
			s.ManagedFields = []metav1.ManagedFieldsEntry{{Time: new(seconds(1 << 40))}}
		}, `metadata.managedFields[0].time: Invalid value: 1099511627776`},
	} {
		t.Run(name, func(t *testing.T) {
			obj := &sample{}
			test.change(obj)
			errs := servable.For(reflect.TypeFor[*sample]()).Validate(obj)
			if test.want == "" {
				assert.Empty(t, errs)
				return
			}
			require.Len(t, errs, 1)
			assert.ErrorContains(t, errs[0], test.want)
		})
	}
}

func TestValidateNamesAll(t *testing.T) {
	obj := &sample{UID: "\xff", Children: []sample{{Amount: intstr.IntOrString{Type: -1}}}}
	assert.Len(t, servable.For(reflect.TypeFor[*sample]()).Validate(obj), 2)
}

// TestNothingToJudge uses a type that JSON can always represent.
func TestNothingToJudge(t *testing.T) {
	assert.Empty(t, servable.For(reflect.TypeFor[*[]int32]()).Validate(&[]int32{1}))
}
