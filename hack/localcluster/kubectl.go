package localcluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// Kubectl runs the cluster's kubectl as administrator and returns its output. An error contains the error output of the command.
func (c *Cluster) Kubectl(ctx context.Context, stdin io.Reader, args ...string) (string, error) {
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(ctx, c.Binary("kubectl"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.pki().kubeconfig("admin"))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}
