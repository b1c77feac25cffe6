package apiserver

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	kruisescheme "kruise.io/kruise/pkg/generated/clientset/versioned/scheme"
)

const guide = "../../docs/user"

var (
	guideKind    = regexp.MustCompile("The fields of `([a-z.]+)/(v1[a-z0-9]+)/([A-Za-z]+)`")
	guideField   = regexp.MustCompile("(?m)^\\| `((?:spec|status)\\.[A-Za-z.]+)` \\|")
	guideExample = regexp.MustCompile(`artifacts/examples/[a-z0-9-]+\.yaml`)
)

// TestUserGuideNamesFieldsThatExist reads the pages of the user guide. Each kind has a page.
func TestUserGuideNamesFieldsThatExist(t *testing.T) {
	pages, err := filepath.Glob(guide + "/*.md")
	require.NoError(t, err)
	described := map[string]bool{"NodePodProbe": true} // On the page of NodeImage.
	for _, path := range pages {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		text := string(content)
		for _, example := range guideExample.FindAllString(text, -1) {
			assert.FileExists(t, filepath.Join("../..", example), path)
		}
		kind := guideKind.FindStringSubmatch(text)
		if kind == nil {
			continue
		}
		described[kind[3]] = true
		object, err := kruisescheme.Scheme.New(schema.GroupVersionKind{Group: kind[1], Version: kind[2], Kind: kind[3]})
		require.NoError(t, err, path)
		fields := guideField.FindAllStringSubmatch(text, -1)
		assert.NotEmpty(t, fields, path)
		for _, field := range fields {
			assert.True(t, hasField(reflect.TypeOf(object), strings.Split(field[1], ".")), "%s: %s", path, field[1])
		}
		for _, heading := range []string{"## Example\n", "## Fields that matter\n", "## What waits for what\n", "## In an outage\n"} {
			assert.Contains(t, text, heading, path)
		}
	}
	for known := range kruisescheme.Scheme.AllKnownTypes() {
		if strings.HasSuffix(known.Group, "kruise.io") && strings.HasSuffix(known.Kind, "List") && known.Kind != "List" {
			name := strings.TrimSuffix(known.Kind, "List")
			assert.True(t, described[name], "%s has no page", name)
		}
	}
}

// hasField reports whether a type has a field, by the names in JSON.
func hasField(of reflect.Type, path []string) bool {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	if len(path) == 0 {
		return true
	}
	if of.Kind() != reflect.Struct {
		return false
	}
	for field := range of.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == path[0] {
			return hasField(field.Type, path[1:])
		}
		if name == "" && field.Anonymous && hasField(field.Type, path) {
			return true
		}
	}
	return false
}
