package apps

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta/table"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/registry/rest"
)

// number returns a column of integers. Cells are int64, the only integer type that tables can have in JSON.
func number[T rest.Object](name, description string, value func(T) int32) rest.Column[T] {
	return rest.Column[T]{
		Name: name, Type: "integer", Description: description,
		Value: func(obj T) any { return int64(value(obj)) },
	}
}

// text returns a column of strings.
func text[T rest.Object](name, description string, value func(T) string) rest.Column[T] {
	return rest.Column[T]{
		Name: name, Type: "string", Description: description,
		Value: func(obj T) any { return value(obj) },
	}
}

// date returns a column with the age of a time. The cell is empty if the time is not set.
func date[T rest.Object](name, description string, value func(T) *metav1.Time) rest.Column[T] {
	return rest.Column[T]{
		Name: name, Type: "date", Description: description,
		Value: func(obj T) any {
			if at := value(obj); at != nil {
				return table.ConvertToHumanReadableDateType(*at)
			}
			return nil
		},
	}
}

// wide returns a column of strings that kubectl shows only with "-o wide".
func wide[T rest.Object](name, description string, value func(T) string) rest.Column[T] {
	column := text(name, description, value)
	column.Wide = true
	return column
}

// containerNames and images return what kubectl shows for the containers of built-in workloads: a list with commas, without init
// containers.
func containerNames(spec *corev1.PodSpec) string {
	return eachContainer(spec, func(c corev1.Container) string { return c.Name })
}

func images(spec *corev1.PodSpec) string {
	return eachContainer(spec, func(c corev1.Container) string { return c.Image })
}

func eachContainer(spec *corev1.PodSpec, value func(corev1.Container) string) string {
	values := make([]string, 0, len(spec.Containers))
	for _, container := range spec.Containers {
		values = append(values, value(container))
	}
	return strings.Join(values, ",")
}

// titled returns a column with another title.
func titled[T rest.Object](title string, column rest.Column[T]) rest.Column[T] {
	column.Name = title
	return column
}
