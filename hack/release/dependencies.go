package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
)

// bom is a CycloneDX document with the parts that describe the modules of a Go program.
type bom struct {
	Format      string      `json:"bomFormat"`
	SpecVersion string      `json:"specVersion"`
	Version     int         `json:"version"`
	Metadata    metadata    `json:"metadata"`
	Components  []component `json:"components"`
}

// metadata and component are parts of the document. A module of Go is a component whose PURL names it for scanners.
type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl,omitempty"`
}

// writeDependencies writes the modules that are linked into a program as CycloneDX JSON. It reads them from the program itself.
func writeDependencies(binary, out, name, version string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("read the modules of %s: %w", binary, err)
	}
	content, err := json.MarshalIndent(dependencies(info, name, version), "", "  ")
	if err != nil {
		return fmt.Errorf("encode the modules of %s: %w", binary, err)
	}
	return os.WriteFile(out, append(content, '\n'), 0o644)
}

// dependencies returns the document. The standard library is listed too, because its vulnerabilities concern the
// program. A replaced module is listed as what replaces it.
func dependencies(info *debug.BuildInfo, name, version string) bom {
	doc := bom{
		Format: "CycloneDX", SpecVersion: "1.6", Version: 1,
		Metadata: metadata{component{Type: "application", Ref: "program", Name: name, Version: version}},
	}
	doc.Components = append(doc.Components, library("stdlib", strings.TrimPrefix(info.GoVersion, "go")))
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		doc.Components = append(doc.Components, library(module.Path, module.Version))
	}
	return doc
}

// library returns the component of a module.
func library(path, version string) component {
	purl := "pkg:golang/" + path + "@" + version
	return component{Type: "library", Ref: purl, Name: path, Version: version, PURL: purl}
}
