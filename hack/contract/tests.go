package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
)

// caseID identifies a case, for example "cloneset 12".
type caseID struct{ page, number string }

// test is a test function and its folder.
type test struct{ folder, name string }

// tops lists the folders that contain tests.
var tops = []string{"artifacts", "cmd", "hack", "pkg", "test"}

var (
	// naming matches a comment line that names cases.
	naming = regexp.MustCompile(`^Cases? ([a-z-]+) (\d+[a-z]?(?:, \d+[a-z]?)*)[.:]`)
	// meant matches a comment line that seems to name cases.
	meant = regexp.MustCompile(`^Cases? [a-z-]+ \d`)
	// numbered matches a test name that contains the number of a case instead of a behaviour.
	numbered = regexp.MustCompile(`(Row|Case)\d`)
)

// readTests returns the tests of each case in a checkout. problems lists invalid comments and test names. err is for
// files that cannot be read.
func readTests(root string) (tests map[caseID][]test, problems []error, err error) {
	tests = map[caseID][]test{}
	for _, top := range tops {
		walk := func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			folder, err := filepath.Rel(root, filepath.Dir(path))
			if err != nil {
				return err
			}
			found, err := readFile(path, filepath.ToSlash(folder), tests)
			problems = append(problems, found...)
			return err
		}
		if err := filepath.WalkDir(filepath.Join(root, top), walk); err != nil {
			return nil, nil, err
		}
	}
	return tests, problems, nil
}

// readFile adds the tests of one file. A comment counts if it is above a test or inside of it.
func readFile(path, folder string, tests map[caseID][]test) (problems []error, err error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, group := range file.Comments {
		name := testAt(file, group)
		for _, comment := range group.List {
			line := strings.TrimSpace(strings.TrimPrefix(comment.Text, "//"))
			// Only comments that clearly mean a case are checked, so that prose with the word "case" is allowed.
			if !meant.MatchString(line) {
				continue
			}
			match := naming.FindStringSubmatch(line)
			if match == nil || name == "" {
				problems = append(problems, fmt.Errorf("%s: %q: write \"Case page 1.\" or \"Cases page 1, 2: text\" above or in a test",
					files.Position(comment.Pos()), line))
				continue
			}
			for number := range strings.SplitSeq(match[2], ", ") {
				id := caseID{match[1], number}
				tests[id] = append(tests[id], test{folder, name})
			}
		}
	}
	for _, declaration := range file.Decls {
		if function, ok := declaration.(*ast.FuncDecl); ok && isTest(function) && numbered.MatchString(function.Name.Name) {
			problems = append(problems, fmt.Errorf("%s: %s: name the test for what it shows, and its case in a comment",
				files.Position(function.Pos()), function.Name.Name))
		}
	}
	return problems, nil
}

// testAt returns the test that contains or follows a comment, or an empty string.
func testAt(file *ast.File, group *ast.CommentGroup) string {
	for _, declaration := range file.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if ok && isTest(function) && (function.Doc == group || function.Pos() <= group.Pos() && group.End() <= function.End()) {
			return function.Name.Name
		}
	}
	return ""
}

// isTest returns true for functions that the go command runs as a test, a fuzz test or a benchmark.
func isTest(function *ast.FuncDecl) bool {
	name := function.Name.Name
	return function.Recv == nil &&
		(strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Fuzz") || strings.HasPrefix(name, "Benchmark"))
}
