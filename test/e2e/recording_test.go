//go:build e2e

package e2e

import (
	"context"
	"os"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"kruise.io/kruise/test/recording"
)

// scrapeInterval is that of the monitors of the chart.
const scrapeInterval = 30 * time.Second

// TestMain records the metrics of all programs during the suite if METRICS_RECORDING names a folder.
func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir := os.Getenv("METRICS_RECORDING")
	if dir == "" {
		return m.Run()
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		klog.Background().Error(err, "KUBECONFIG must name the cluster under test")
		return 1
	}
	recorder, err := recording.New(config, dir)
	if err != nil {
		klog.Background().Error(err, "The metrics cannot be recorded")
		return 1
	}
	ctx, end := context.WithCancel(context.Background()) //nolint:forbidigo // TestMain has no context.
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		recorder.Run(ctx, scrapeInterval)
	}()
	defer func() { end(); <-ended }()
	return m.Run()
}
