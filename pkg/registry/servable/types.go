package servable

import (
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maker builds one judge for each type. It caches them, because a type may contain itself.
type maker map[reflect.Type]judge

// of returns the judge of a type. While the judge of a type is being built, m has a judge that calls the finished one later. So a type
// that contains itself ends the recursion.
func (m maker) of(t reflect.Type) judge {
	if known, ok := leaves[t]; ok {
		return known
	}
	if known, ok := m[t]; ok {
		return known
	}
	var made judge
	m[t] = func(w *walk, value reflect.Value) { made(w, value) }
	made = m.make(t)
	m[t] = made
	return made
}

// make builds the judge of a type from its form. Numbers and booleans have none: JSON can represent all of them.
func (m maker) make(t reflect.Type) judge {
	switch t.Kind() {
	case reflect.String:
		return judgeText
	case reflect.Pointer:
		return pointerJudge(m.of(t.Elem()))
	case reflect.Slice:
		return sliceJudge(m.of(t.Elem()))
	case reflect.Map:
		return mapJudge(m.of(t.Elem()))
	case reflect.Struct:
		return structJudge(m.members(t))
	default:
		return nil
	}
}

// pointerJudge returns nil if there is nothing to check behind the pointer, as the other functions here do. So whole branches of a type
// are left out of every check.
func pointerJudge(pointed judge) judge {
	if pointed == nil {
		return nil
	}
	return func(w *walk, value reflect.Value) {
		if !value.IsNil() {
			pointed(w, value.Elem())
		}
	}
}

func sliceJudge(element judge) judge {
	if element == nil {
		return nil
	}
	return func(w *walk, value reflect.Value) {
		for i := range value.Len() {
			w.into(step{index: i}, element, value.Index(i))
		}
	}
}

// mapJudge also checks the keys, which are all strings. It reuses one value for all entries, because a status may have thousands.
func mapJudge(element judge) judge {
	return func(w *walk, value reflect.Value) {
		if value.Len() == 0 {
			return
		}
		key, held := reflect.New(value.Type().Key()).Elem(), reflect.New(value.Type().Elem()).Elem()
		for entries := value.MapRange(); entries.Next(); {
			key.SetIterKey(entries)
			if !utf8.ValidString(key.String()) {
				w.report(key.String(), "a key "+notText)
				continue
			}
			if element != nil {
				held.SetIterValue(entries)
				w.into(step{key: key.String(), keyed: true}, element, held)
			}
		}
	}
}

// member is a field of a struct. A member without a name is embedded in the JSON of the outer struct.
type member struct {
	index int
	name  string
	judge judge
}

// members returns the exported fields that have a judge.
func (m maker) members(t reflect.Type) []member {
	var found []member
	for i := range t.NumField() {
		if of := t.Field(i); of.IsExported() {
			if judge := m.of(of.Type); judge != nil {
				found = append(found, member{index: i, name: nameOf(of), judge: judge})
			}
		}
	}
	return found
}

func structJudge(members []member) judge {
	if len(members) == 0 {
		return nil
	}
	return func(w *walk, value reflect.Value) {
		for i := range members {
			member := &members[i]
			if member.name == "" {
				member.judge(w, value.Field(member.index))
				continue
			}
			w.into(step{name: member.name}, member.judge, value.Field(member.index))
		}
	}
}

// nameOf returns the JSON name of a field. Hub types have no tags, so their names follow the convention of all versions.
func nameOf(of reflect.StructField) string {
	if tag, ok := of.Tag.Lookup("json"); ok {
		name, _, _ := strings.Cut(tag, ",")
		if name != "" || of.Anonymous {
			return name
		}
	}
	switch {
	case of.Type == reflect.TypeFor[metav1.ObjectMeta]():
		return "metadata"
	case of.Anonymous:
		return ""
	default:
		return lowerFirstWord(of.Name)
	}
}

// lowerFirstWord converts RestartPolicy to restartPolicy, HTTPGet to httpGet, and UID to uid.
func lowerFirstWord(name string) string {
	letters := []rune(name)
	for i := range letters {
		if i > 0 && i+1 < len(letters) && unicode.IsLower(letters[i+1]) || unicode.IsLower(letters[i]) {
			break
		}
		letters[i] = unicode.ToLower(letters[i])
	}
	return string(letters)
}
