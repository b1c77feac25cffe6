package apps

import (
	"fmt"

	"kruise.io/kruise/pkg/registry/rest"
)

// cells returns an object's columns as "NAME value". narrow holds those of every table, wide those of wide tables.
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
