package main

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
)

// semver matches versions that both Helm and the --version flag of the programs accept.
var semver = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

// versionOf returns the wanted version if it is set, else the tag of the last commit, else a version derived from the
// commit. A checkout with uncommitted changes never gets the version of a tag.
func versionOf(ctx context.Context, root, wanted string) (string, error) {
	if wanted != "" {
		if !semver.MatchString(wanted) {
			return "", fmt.Errorf("VERSION %q: use the form v1.2.3 or v1.2.3-rc.1", wanted)
		}
		return wanted, nil
	}
	git := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = root
		out, err := cmd.Output()
		return strings.TrimSpace(string(out)), err
	}
	changes, err := git("status", "--porcelain", "--untracked-files=no")
	if err != nil {
		return "", fmt.Errorf("read the state of %s: %w", root, err)
	}
	// Only the tag of this very commit counts.
	tag, err := git("describe", "--tags", "--exact-match", "--match=v[0-9]*", "HEAD")
	if err == nil && changes == "" && semver.MatchString(tag) {
		return tag, nil
	}
	commit, err := git("rev-parse", "--short=12", "HEAD")
	if err != nil {
		return "", fmt.Errorf("find the last commit of %s: %w", root, err)
	}
	if changes != "" {
		commit += ".dirty"
	}
	return "v0.0.0-dev+" + commit, nil
}

// imageTag returns the version as an image tag. Image tags cannot contain a plus sign, which separates the metadata
// of a version.
func imageTag(version string) string { return strings.ReplaceAll(version, "+", "-") }
