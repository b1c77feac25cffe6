package takeover

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"

	"kruise.io/kruise/pkg/takeover"
)

// The names are those of the chart and of the image.
const (
	deployment = "kruise-apiserver"
	container  = "apiserver"
	program    = "/kruise-apiserver"
	// killed is the exit status of a process that the kernel has killed.
	killed = 137
)

// storeFlags are the flags of the server that say where the store is, and how objects are written to it.
var storeFlags = []string{"--etcd-servers", "--etcd-prefix", "--etcd-cafile", "--etcd-certfile", "--etcd-keyfile", "--data-dir",
	"--encryption-provider-config", "--max-object-bytes"}

// inPod runs commands of the store in the container of kruise-apiserver, because only it reaches an embedded store.
type inPod struct {
	config    *rest.Config
	core      kubernetes.Interface
	namespace string
}

var _ takeover.Store = &inPod{}

// Run implements takeover.Store. It runs the command in a Pod of kruise-apiserver by exec, with the store's flags of
// the server. It returns the output also with an error, because a command can print a report and fail. The standard
// error of the command becomes a part of the error.
func (p *inPod) Run(ctx context.Context, input io.Reader, args ...string) ([]byte, error) {
	pod, err := p.pod(ctx)
	if err != nil {
		return nil, err
	}
	command := append([]string{program, "store"}, args...)
	// The command must open the same store as the server in this Pod.
	command = append(command, flagsOf(pod)...)
	request := p.core.CoreV1().RESTClient().Post().Resource("pods").Namespace(pod.Namespace).Name(pod.Name).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{
			Container: container, Command: command, Stdin: input != nil, Stdout: true, Stderr: true,
		}, scheme.ParameterCodec)
	streams, err := remotecommand.NewWebSocketExecutor(p.config, "GET", request.URL().String())
	if err != nil {
		return nil, err
	}
	var stdout, stderr bytes.Buffer
	// Both streams are read to their ends, even if the command fails.
	err = streams.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: input, Stdout: &stdout, Stderr: &stderr})
	if exit := exec.ExitError(nil); errors.As(err, &exit) && exit.ExitStatus() == killed {
		err = fmt.Errorf("%w: it was killed, probably because it needs more memory than the container may use beside the server: "+
			"raise apiserver.resources.limits.memory of the chart for the take-over", err)
	}
	if err != nil {
		err = fmt.Errorf("run %s in Pod %s/%s: %w: %s", strings.Join(command, " "), pod.Namespace, pod.Name, err,
			strings.TrimSpace(stderr.String()))
	}
	return stdout.Bytes(), err
}

// restart is how long the container may need to start again. It does so when its store is closed.
const restart = 2 * time.Minute

// pod waits for a Pod of kruise-apiserver whose container runs. The error says why none was found.
func (p *inPod) pod(ctx context.Context) (found *corev1.Pod, err error) {
	waited := wait.PollUntilContextTimeout(ctx, time.Second, restart, true, func(ctx context.Context) (bool, error) {
		found, err = p.running(ctx)
		// No error ends the wait, because the container may start again at this time.
		return err == nil, nil
	})
	return found, errors.Join(err, waited)
}

// running returns a Pod of kruise-apiserver whose container runs. It need not be ready, because it is not while its store is closed.
func (p *inPod) running(ctx context.Context) (*corev1.Pod, error) {
	object, err := p.core.AppsV1().Deployments(p.namespace).Get(ctx, deployment, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("find kruise-apiserver: %w; install it with the chart's value takeover=true", err)
	}
	selector, err := metav1.LabelSelectorAsSelector(object.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("find the Pods of kruise-apiserver: %w", err)
	}
	pods, err := p.core.CoreV1().Pods(p.namespace).List(ctx, metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		return nil, fmt.Errorf("find the Pods of kruise-apiserver: %w", err)
	}
	// One replica is enough: all have the same store, or the store is embedded and there is one.
	for i := range pods.Items {
		for _, status := range pods.Items[i].Status.ContainerStatuses {
			if status.Name == container && status.State.Running != nil {
				return &pods.Items[i], nil
			}
		}
	}
	return nil, fmt.Errorf("no container of Deployment %s/%s runs: look at its Pods", p.namespace, deployment)
}

// flagsOf returns the flags of the server in the Pod that a command of the store needs too. Only the form
// --flag=value is known, which the chart writes.
func flagsOf(pod *corev1.Pod) []string {
	var flags []string
	for _, each := range pod.Spec.Containers {
		if each.Name != container {
			continue
		}
		for _, argument := range each.Args {
			for _, flag := range storeFlags {
				if strings.HasPrefix(argument, flag+"=") {
					flags = append(flags, argument)
				}
			}
		}
	}
	return flags
}
