package servable

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// leaves holds the judges of types that encode themselves. Strings are handled separately.
var leaves = map[reflect.Type]judge{
	reflect.TypeFor[intstr.IntOrString]():   judgeIntOrString,
	reflect.TypeFor[metav1.Time]():          judgeTime,
	reflect.TypeFor[metav1.MicroTime]():     judgeMicroTime,
	reflect.TypeFor[runtime.RawExtension](): judgeRaw,
	reflect.TypeFor[metav1.FieldsV1]():      judgeFields,
}

const notText = "must be valid UTF-8; encode binary data in base64"

// judgeText refuses bytes that are not UTF-8: the JSON encoder would replace them, and clients would read another text than was written.
func judgeText(w *walk, value reflect.Value) {
	if text := value.String(); !utf8.ValidString(text) {
		w.report(text, notText)
	}
}

// judgeIntOrString refuses a third type, which makes the JSON encoder return an error for the whole answer.
func judgeIntOrString(w *walk, value reflect.Value) {
	switch either := value.Addr().Interface().(*intstr.IntOrString); either.Type {
	case intstr.Int:
	case intstr.String:
		judgeText(w, reflect.ValueOf(either.StrVal))
	default:
		w.report(fmt.Sprintf("type %d", either.Type), "must be an integer (type 0) or a string (type 1)")
	}
}

// firstSecond and lastSecond limit times to those that RFC 3339 can represent, with a four-digit year.
const (
	firstSecond = -62167219200
	lastSecond  = 253402300799
)

func judgeTime(w *walk, value reflect.Value) {
	w.judgeSeconds(value.Addr().Interface().(*metav1.Time).Time)
}

func judgeMicroTime(w *walk, value reflect.Value) {
	w.judgeSeconds(value.Addr().Interface().(*metav1.MicroTime).Time)
}

func (w *walk) judgeSeconds(moment time.Time) {
	if seconds := moment.Unix(); seconds < firstSecond || seconds > lastSecond {
		w.report(seconds, "must be a time in the years 0 to 9999, in seconds since 1970")
	}
}

func judgeRaw(w *walk, value reflect.Value) {
	w.judgeJSON(value.Addr().Interface().(*runtime.RawExtension).Raw)
}

func judgeFields(w *walk, value reflect.Value) {
	w.judgeJSON(value.Addr().Interface().(*metav1.FieldsV1).GetRawBytes())
}

// deepest is the maximum nesting depth of embedded JSON. Decoders fail at a depth of 10,000, including the object and
// the list around it.
const deepest = 1000

func (w *walk) judgeJSON(raw []byte) {
	switch {
	case raw == nil:
	case !json.Valid(raw) || !utf8.Valid(raw):
		w.report(beginning(raw), "must be valid JSON in UTF-8")
	case depth(raw) > deepest:
		w.report(beginning(raw), fmt.Sprintf("must not be nested more than %d levels deep", deepest))
	}
}

// beginning returns the first bytes, which keeps an error short.
func beginning(raw []byte) string {
	const enough = 60
	if len(raw) <= enough {
		return string(raw)
	}
	return string(raw[:enough]) + "…"
}

// depth returns the nesting depth of valid JSON.
func depth(raw []byte) int {
	var now, most int
	var quoted bool
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			now++
			most = max(most, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return most
}
