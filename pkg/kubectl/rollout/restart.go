package rollout

import (
	"github.com/spf13/cobra"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"kruise.io/kruise/pkg/kubectl/cluster"
	"kruise.io/kruise/pkg/kubectl/polymorphic"
)

// RestartInPlace lets rollout restart of kubectl restart containers in place where the manager of the cluster can do so.
func RestartInPlace(command *cobra.Command, factory cmdutil.Factory) {
	command.PreRun = func(*cobra.Command, []string) { polymorphic.RestartInPlace(cluster.Aggregated(factory)) }
}
