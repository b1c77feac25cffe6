package workload_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	kruisescheme "kruise.io/kruise/pkg/generated/clientset/versioned/scheme"
	"kruise.io/kruise/pkg/kubectl/workload"
	"kruise.io/kruise/pkg/workload/kinds"
)

// TestEveryPathIsAField checks the table against the types of both versions.
func TestEveryPathIsAField(t *testing.T) {
	for _, row := range workload.All() {
		for _, version := range []string{"v1alpha1", "v1beta1"} {
			object, err := kruisescheme.Scheme.New(schema.GroupVersionKind{Group: row.Group, Version: version, Kind: row.Kind})
			require.NoError(t, err)
			fields := reflect.ValueOf(*row)
			for i := range fields.NumField() {
				path, ok := reflect.TypeAssert[workload.Path](fields.Field(i))
				if !ok || path.In(version) == "" {
					continue
				}
				assert.Empty(t, missing(reflect.TypeOf(object).Elem(), strings.Split(path.In(version), ".")),
					"%s of %s %s is not a field", fields.Type().Field(i).Name, version, row.Kind)
			}
		}
	}
}

// missing returns the part of a path that is not in a type.
func missing(of reflect.Type, path []string) []string {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if len(path) == 0 || of.Kind() != reflect.Struct {
		return path
	}
	for field := range of.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == path[0] {
			return missing(field.Type, path[1:])
		}
		if options == "inline" {
			if rest := missing(field.Type, path); len(rest) == 0 {
				return nil
			}
		}
	}
	return path
}

func TestWorkloadsWithPodsAreInTheTable(t *testing.T) {
	for _, kind := range kinds.All() {
		if kind.Group != workload.All()[0].Group || kind.Template == nil {
			continue
		}
		row := workload.KindOf(kind.GroupKind)
		if assert.NotNil(t, row, kind.String()) {
			assert.Equal(t, kind.Resource.Resource, row.Resource)
		}
	}
}

func TestNamesOfKindsThatRollOut(t *testing.T) {
	names := workload.ArgNames((*workload.Kind).RollsOut)
	slices.Sort(names)
	assert.Equal(t, []string{"clonesets.apps.kruise.io", "daemonsets.apps.kruise.io", "statefulsets.apps.kruise.io"}, names)
}
