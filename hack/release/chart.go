package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// chart packages the Helm chart with the images of this release as defaults. The chart's application version is the
// tag of the images.
func chart(ctx context.Context, root, dir, version string) error {
	found, err := exec.CommandContext(ctx, filepath.Join(root, "hack", "helm.sh")).Output()
	if err != nil {
		return fmt.Errorf("find helm: %w", err)
	}
	helm := exec.CommandContext(ctx, strings.TrimSpace(string(found)), "package", filepath.Join(root, "artifacts", "helm", "kruise"),
		"--destination", dir, "--version", strings.TrimPrefix(version, "v"), "--app-version", imageTag(version))
	if out, err := helm.CombinedOutput(); err != nil {
		return fmt.Errorf("package the chart: %w\n%s", err, out)
	}
	return nil
}
