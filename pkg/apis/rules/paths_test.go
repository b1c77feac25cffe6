package rules_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/rules"
)

func TestInVersion(t *testing.T) {
	moved := []rules.Moved{
		{"spec.long.inner", "spec.elsewhere"},
		{"spec.long", "spec.short"},
		{"spec.list[*].new", "spec.list[*].old"},
		{"spec.list[*].deep[*].new", "spec.list[*].deep[*].older"},
	}
	for path, want := range map[string]string{
		"spec.long":                     "spec.short",
		"spec.long.x[2]":                "spec.short.x[2]",
		"spec.long[2]":                  "spec.short[2]",
		"spec.long.inner.y":             "spec.elsewhere.y",
		"spec.longer":                   "spec.longer",
		"spec.list[3].new":              "spec.list[3].old",
		"spec.list[12].new.x[0]":        "spec.list[12].old.x[0]",
		"spec.list[3].newer":            "spec.list[3].newer",
		"spec.list":                     "spec.list",
		"spec.list.new":                 "spec.list.new",
		"spec.list[3":                   "spec.list[3",
		"spec.listed].new":              "spec.listed].new",
		"spec.list[1].deep[2].new.more": "spec.list[1].deep[2].older.more",
		"metadata.name":                 "metadata.name",
	} {
		errs := field.ErrorList{{Field: path}}
		assert.Equal(t, want, rules.InVersion("v1alpha1", errs, moved)[0].Field)
		assert.Equal(t, path, rules.InVersion("v1beta1", errs, moved)[0].Field)
		assert.Equal(t, path, errs[0].Field, "the argument stays")
	}
}
