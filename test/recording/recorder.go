package recording

import (
	"compress/gzip"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// Namespace is where the chart installs the programs.
const Namespace = "kruise-system"

// ports are the names of the container ports that serve /metrics, as the monitors of the chart have them.
var ports = map[string]scheme{"https": "https", "metrics": "http", "http": "http"}

type scheme string

// Recorder scrapes the programs of a cluster.
type Recorder struct {
	core   kubernetes.Interface
	client *http.Client
	dir    string
}

// New returns a recorder that writes to the folder dir. The user of config has a client certificate, and may list Pods and read
// /metrics.
func New(config *rest.Config, dir string) (*Recorder, error) {
	core, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create client: %w", err)
	}
	client, err := clientFor(config)
	if err != nil {
		return nil, err
	}
	return &Recorder{core: core, client: client, dir: dir}, nil
}

// Run scrapes all programs at each interval until ctx ends. Scrapes that fail are recorded as such, because alerts are about them too.
func (r *Recorder) Run(ctx context.Context, interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		r.scrapeAll(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// scrapeAll scrapes each Pod that has an address, as Prometheus does. All files of one pass have the same time.
func (r *Recorder) scrapeAll(ctx context.Context) {
	list, err := r.core.CoreV1().Pods(Namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		klog.FromContext(ctx).Info("The Pods cannot be listed. This pass records nothing", "err", err)
		return
	}
	now := time.Now()
	var all sync.WaitGroup
	for i := range list.Items {
		if target := targetOf(&list.Items[i]); target != nil {
			all.Go(func() { r.record(ctx, target, now) })
		}
	}
	all.Wait()
}

// target is one port that serves metrics.
type target struct {
	pod, container string
	scheme         scheme
	// address is the host and the port.
	address string
}

// targetOf returns nil if the Pod does not run or serves no metrics.
func targetOf(pod *corev1.Pod) *target {
	if pod.Status.PodIP == "" || pod.Status.Phase != corev1.PodRunning {
		return nil
	}
	for _, container := range pod.Spec.Containers {
		for _, port := range container.Ports {
			if scheme, ok := ports[port.Name]; ok {
				address := net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(int(port.ContainerPort)))
				return &target{pod: pod.Name, container: container.Name, scheme: scheme, address: address}
			}
		}
	}
	return nil
}

func (r *Recorder) record(ctx context.Context, t *target, now time.Time) {
	logger := klog.FromContext(ctx)
	text, err := r.scrape(ctx, t)
	if err != nil {
		if ctx.Err() != nil {
			return // The recording has ended. The program is not at fault.
		}
		logger.Info("A scrape failed", "pod", t.pod, "err", err)
	}
	path := filepath.Join(r.dir, t.container, t.pod, strconv.FormatInt(now.UnixMilli(), 10)+".txt.gz")
	if err := write(path, text); err != nil {
		logger.Error(err, "A scrape is missing in the recording", "path", path)
	}
}

func write(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	zipped := gzip.NewWriter(file)
	if _, err := zipped.Write(text); err != nil {
		return err
	}
	if err := zipped.Close(); err != nil {
		return err
	}
	return file.Close()
}
