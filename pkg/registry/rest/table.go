package rest

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/meta/table"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Column is one column of a kind's table.
type Column[T Object] struct {
	Name, Type, Description string
	// Wide columns are only shown with "-o wide".
	Wide bool
	// Value returns the cell: an integer, a string, or nil for an empty cell.
	Value func(T) any
}

// Age returns the age column, which every kind has.
func Age[T Object]() Column[T] {
	return Column[T]{
		Name: "AGE", Type: "date", Description: metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"],
		Value: func(obj T) any { return table.ConvertToHumanReadableDateType(obj.GetCreationTimestamp()) },
	}
}

// tableConvertor prints hub objects, so all versions share one list of columns.
type tableConvertor[T Object] struct {
	kind *Kind[T]
}

// ConvertToTable implements rest.TableConvertor. obj is an object or a list of the kind. kubectl asks for the headers only with the first
// page of a list and the first event of a watch.
func (c *tableConvertor[T]) ConvertToTable(_ context.Context, obj, options runtime.Object) (*metav1.Table, error) {
	result := &metav1.Table{}
	if list, err := meta.ListAccessor(obj); err == nil {
		result.ResourceVersion = list.GetResourceVersion()
		result.Continue = list.GetContinue()
		result.RemainingItemCount = list.GetRemainingItemCount()
	} else if single, err := meta.CommonAccessor(obj); err == nil {
		result.ResourceVersion = single.GetResourceVersion()
	}
	if opt, ok := options.(*metav1.TableOptions); !ok || !opt.NoHeaders {
		result.ColumnDefinitions = c.headers()
	}
	rows, err := table.MetaToTableRow(obj, c.cells)
	if err != nil {
		return nil, fmt.Errorf("print %s: %w", c.kind.Plural, err)
	}
	result.Rows = rows
	return result, nil
}

// headers returns the columns of the kind after that of the name. Clients show columns with priority 1 only with "-o wide".
func (c *tableConvertor[T]) headers() []metav1.TableColumnDefinition {
	headers := []metav1.TableColumnDefinition{
		{Name: "Name", Type: "string", Format: "name", Description: metav1.ObjectMeta{}.SwaggerDoc()["name"]},
	}
	for _, column := range c.kind.Columns {
		header := metav1.TableColumnDefinition{Name: column.Name, Type: column.Type, Description: column.Description}
		if column.Wide {
			header.Priority = 1
		}
		headers = append(headers, header)
	}
	return headers
}

// cells returns the row of one object, in the order of the headers.
func (c *tableConvertor[T]) cells(obj runtime.Object, _ metav1.Object, name, _ string) ([]any, error) {
	typed, ok := obj.(T)
	if !ok {
		return nil, fmt.Errorf("unexpected type %T", obj)
	}
	cells := []any{name}
	for _, column := range c.kind.Columns {
		cells = append(cells, column.Value(typed))
	}
	return cells, nil
}
