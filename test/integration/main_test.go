//go:build integration

package integration

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/featuregate"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"

	"kruise.io/kruise/hack/localcluster"
	"kruise.io/kruise/pkg/apiserver"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
)

// env is shared by all tests.
var env struct {
	cluster    *localcluster.Cluster
	config     *rest.Config
	kube       kubernetes.Interface
	kruise     versioned.Interface
	aggregator aggregator.Interface
	// gate holds the feature gates of the shared server. With them, all kinds can be written.
	gate featuregate.MutableFeatureGate
	// dir is removed at the end. binary is the path of the apiserver.
	dir, binary string
	// hostIP is the address under which the cluster reaches processes of this machine.
	hostIP string
	server *server
}

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "integration:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	ctx, cancel := context.WithCancel(context.Background()) //nolint:forbidigo // TestMain has no context
	defer cancel()
	if env.gate, err = features.New(""); err != nil {
		return 1, err
	}
	// The path must be short, because the paths of sockets are limited.
	if env.dir, err = os.MkdirTemp("", "kruise-integration-"); err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(env.dir) }()
	env.binary = filepath.Join(env.dir, "kruise-apiserver")
	built := make(chan error, 1)
	go func() { built <- build(ctx) }()
	if err := startCluster(ctx); err != nil {
		return 1, err
	}
	defer func() {
		downErr := env.cluster.Down(ctx)
		if downErr != nil { // the kernel takes its time for connections that this process had
			downErr = env.cluster.Down(ctx)
		}
		if downErr != nil && err == nil {
			code, err = 1, downErr
		}
	}()
	if err := connect(); err != nil {
		return 1, err
	}
	if err := <-built; err != nil {
		return 1, fmt.Errorf("build the apiserver: %w", err)
	}
	if err := install(ctx); err != nil {
		return 1, err
	}
	opened, err := openGates()
	if err != nil {
		return 1, err
	}
	if env.server, err = startServer(ctx, "shared", opened); err != nil {
		return 1, err
	}
	defer env.server.stop()
	if err := env.server.publish(ctx); err != nil {
		return 1, err
	}
	code = m.Run()
	return code, env.server.logsNoBug()
}

func build(ctx context.Context) error {
	command := exec.CommandContext(ctx, "go", "build", "-o", env.binary, "kruise.io/kruise/cmd/apiserver")
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	return command.Run()
}

// openGates enables all feature gates that kinds require, and returns the flag that enables them in a server.
func openGates() (string, error) {
	// Budgets also limit updates.
	opened := []string{"PodUnavailableBudgetUpdateGate=true"}
	for _, registered := range apiserver.Kinds(env.gate) {
		name := registered.Describe().Closed
		if name == "" || env.gate.Enabled(featuregate.Feature(name)) {
			continue
		}
		if err := env.gate.SetFromMap(map[string]bool{name: true}); err != nil {
			return "", err
		}
		opened = append(opened, name+"=true")
	}
	return "--feature-gates=" + strings.Join(opened, ","), nil
}

func startCluster(ctx context.Context) error {
	root, err := filepath.Abs("../..")
	if err != nil {
		return err
	}
	config := localcluster.OwnedConfig(root, "integration")
	config.Out, config.KubernetesVersion = os.Stdout, os.Getenv(localcluster.VersionVariable)
	if env.cluster, err = localcluster.New(config); err != nil {
		return err
	}
	if err := env.cluster.Up(ctx); err != nil {
		return fmt.Errorf("start the cluster: %w", err)
	}
	network, err := env.cluster.Network()
	env.hostIP = network.HostIP()
	return err
}

func connect() (err error) {
	if env.config, err = env.cluster.RESTConfig(); err != nil {
		return err
	}
	if env.kube, err = kubernetes.NewForConfig(env.config); err != nil {
		return err
	}
	if env.aggregator, err = aggregator.NewForConfig(env.config); err != nil {
		return err
	}
	config := rest.CopyConfig(env.config)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	env.kruise, err = versioned.NewForConfig(config)
	return err
}
