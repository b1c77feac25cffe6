package apps

import (
	"fmt"

	"kruise.io/kruise/pkg/registry/rest"
)

// cells prints an object's columns as "NAME value", those of every table and those of wide ones.
func cells[T rest.Object](kind *rest.Kind[T], obj T) (narrow, wide []string) {
	for _, column := range kind.Columns {
		text := fmt.Sprintf("%s %v", column.Name, column.Value(obj))
		if column.Wide {
			wide = append(wide, text)
		} else {
			narrow = append(narrow, text)
		}
	}
	return narrow, wide
}
