//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
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
	var recording sync.WaitGroup
	recording.Go(func() { recorder.Run(ctx, scrapeInterval) })
	recording.Go(func() { recordLoad(ctx, dir) })
	defer func() { end(); recording.Wait() }()
	return m.Run()
}

// recordLoad records how busy the machine is, until ctx ends. test/monitoring reads it: on an overloaded machine, requests are slow although
// the programs are not at fault.
func recordLoad(ctx context.Context, dir string) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	last, written, late := time.Now(), time.Now(), time.Duration(0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := time.Now()
		late, last = max(late, now.Sub(last)-time.Second), now
		if now.Sub(written) < scrapeInterval {
			continue
		}
		if err := writeLoad(dir, now, late); err != nil {
			klog.FromContext(ctx).Error(err, "The load of the machine is missing in the recording")
		}
		written, late = now, 0
	}
}

// writeLoad appends a line to the file load.txt of the recording: the Unix time in ms, the load average of the last minute, the number of
// CPUs, and the longest delay of a tick since the last line in ms.
func writeLoad(dir string, now time.Time, late time.Duration) (err error) {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return err
	}
	var average float64
	if _, err := fmt.Sscan(string(text), &average); err != nil {
		return fmt.Errorf("read the load average %q: %w", text, err)
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(dir, "load.txt"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	_, err = fmt.Fprintln(file, now.UnixMilli(), average, runtime.NumCPU(), late.Milliseconds())
	return err
}
