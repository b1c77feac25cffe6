package localcluster

import (
	"bytes"
	"embed"
	"fmt"
	"text/template"
)

//go:embed templates
var templateFiles embed.FS

var templates = template.Must(template.New("").Option("missingkey=error").ParseFS(templateFiles, "templates/*"))

// render executes the template of a configuration file. It fails if a value is missing.
func render(name string, values map[string]any) ([]byte, error) {
	var out bytes.Buffer
	if err := templates.ExecuteTemplate(&out, name, values); err != nil {
		return nil, fmt.Errorf("render %s: %w", name, err)
	}
	return out.Bytes(), nil
}

// renderTo renders a template into a file.
func renderTo(path, name string, values map[string]any) error {
	data, err := render(name, values)
	if err != nil {
		return err
	}
	return writeFile(path, data, 0o644)
}
