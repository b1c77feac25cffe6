package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// row matches a case in the table of a page: its number, its description and its tests.
var row = regexp.MustCompile(`^\| (\d+[a-z]?) \| (.*) \| ([^|]*) \|$`)

// noTest is the cell of a case without a test.
const noTest = "no test yet"

// pageOf returns the name of a page, which is its file name without the extension.
func pageOf(file string) string { return strings.TrimSuffix(filepath.Base(file), ".md") }

// fill writes the tests of each case into the rows of a page, and deletes those cases from tests. A duplicate number
// is a problem. What is left in tests after all pages are filled has no page.
func fill(content, page string, tests map[caseID][]test) (filled string, problems []error) {
	lines := strings.Split(content, "\n")
	seen := map[string]bool{}
	for i, line := range lines {
		match := row.FindStringSubmatch(line)
		if match == nil {
			continue
		}
		number, what := match[1], match[2]
		if seen[number] {
			problems = append(problems, fmt.Errorf("%s/%s.md: case %s is there twice", pages, page, number))
		}
		seen[number] = true
		id := caseID{page, number}
		lines[i] = fmt.Sprintf("| %s | %s | %s |", number, what, cell(tests[id]))
		delete(tests, id)
	}
	return strings.Join(lines, "\n"), problems
}

// cell formats tests, grouped by folder and sorted, so that the same tests always give the same text.
func cell(tests []test) string {
	if len(tests) == 0 {
		return noTest
	}
	byFolder := map[string][]string{}
	var folders []string
	for _, t := range tests {
		if byFolder[t.folder] == nil {
			folders = append(folders, t.folder)
		}
		if !slices.Contains(byFolder[t.folder], t.name) {
			byFolder[t.folder] = append(byFolder[t.folder], t.name)
		}
	}
	slices.Sort(folders)
	parts := make([]string, 0, len(folders))
	for _, folder := range folders {
		slices.Sort(byFolder[folder])
		parts = append(parts, "`"+folder+"` "+strings.Join(byFolder[folder], ", "))
	}
	return strings.Join(parts, "<br>")
}

// unknown returns an error for each remaining case, because no page has it. The caller fills all pages first. A case
// may name a kind whose page does not exist yet.
func unknown(root string, files []string, tests map[caseID][]test) []error {
	var problems []error
	for id, named := range tests {
		written := slices.ContainsFunc(files, func(file string) bool { return pageOf(file) == id.page })
		if !written && isKind(root, id.page) {
			continue
		}
		problems = append(problems, fmt.Errorf("%s: %s names case %s %s, which %s does not have",
			named[0].folder, named[0].name, id.page, id.number, pages))
	}
	return problems
}

// isKind returns true if the kind has API types.
func isKind(root, name string) bool {
	found, err := filepath.Glob(filepath.Join(root, "pkg", "apis", "*", "types_"+name+".go"))
	return err == nil && len(found) > 0
}
