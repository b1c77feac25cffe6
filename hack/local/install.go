package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/client-go/tools/clientcmd"

	"kruise.io/kruise/hack/images"
)

// chartKeys maps a program to the name of its image in the chart's values. A program without an entry cannot be
// installed.
var chartKeys = map[string]string{"apiserver": "apiserver", "controller": "manager", "node-agent": "daemon"}

// workloads lists the workloads of the chart, in the order in which they become ready.
var workloads = []string{"deployment/kruise-apiserver", "deployment/kruise-controller-manager", "daemonset/kruise-daemon"}

// The names and the time limit of an installation. rolloutTimeout is for each workload.
const (
	installationNamespace = "kruise-system"
	// releaseNamespace contains the Helm release record. It cannot be the namespace of the installation, because the
	// chart creates that one.
	releaseNamespace = "default"
	rolloutTimeout   = "180s"
)

// deploy installs to the cluster of KUBECONFIG. The local cluster gets images of this checkout. Other clusters pull
// images from a registry.
func deploy(ctx context.Context, l *local, _ []string) error {
	kubeconfig := os.Getenv("KUBECONFIG")
	if kubeconfig == "" {
		kubeconfig = l.cluster.Kubeconfig()
	}
	own, err := l.isOwn(kubeconfig)
	if err != nil {
		return err
	}
	// The tools are those of the local cluster, so the machine needs none of its own.
	if err := l.cluster.BuildBinaries(ctx, "kubectl", "helm"); err != nil {
		return err
	}
	// A registry of the user is used for any cluster, also for the local one.
	registry, tag := os.Getenv("IMAGE_REPOSITORY"), os.Getenv("IMAGE_TAG")
	switch {
	case registry != "" && tag != "":
		return l.install(ctx, kubeconfig, []string{"image.registry=" + registry, "image.tag=" + tag})
	case own:
		programs, err := l.buildPrograms(ctx)
		if err != nil {
			return err
		}
		return l.installLocal(ctx, programs)
	default:
		return fmt.Errorf("the cluster of %s cannot be given images from here: push the archives of \"make images\" to a registry that it "+
			"reaches and run make deploy IMAGE_REPOSITORY=<registry/folder that holds apiserver, controller and node-agent> "+
			"IMAGE_TAG=<tag>", kubeconfig)
	}
}

// isOwn returns true if a kubeconfig belongs to the local cluster. The file can be a copy, so the address and the CA
// are compared and not the path.
func (l *local) isOwn(kubeconfig string) (bool, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return false, fmt.Errorf("read kubeconfig %s: %w; start the local cluster with \"make up\" or set KUBECONFIG", kubeconfig, err)
	}
	local, err := clientcmd.BuildConfigFromFlags("", l.cluster.Kubeconfig())
	return err == nil && local.Host == config.Host && string(local.CAData) == string(config.CAData), nil
}

// installLocal loads the images into the nodes and installs exactly those images.
func (l *local) installLocal(ctx context.Context, programs []images.Image) error {
	archives := make([]string, 0, len(programs))
	for _, image := range programs {
		archives = append(archives, image.Archive)
	}
	if err := l.cluster.LoadImages(ctx, archives...); err != nil {
		return err
	}
	values, err := imageValues(programs)
	if err != nil {
		return err
	}
	// A local cluster contains nothing secret, so the apiserver may list all groups, and every CustomResourceDefinition can be
	// protected. PodUnavailableBudgets also limit updates, StatefulSets resize claims, and sidecars of jobs are ended. Simulated nodes
	// run no agent, because they have no container runtime. The real nodes have different addresses but one loopback device.
	const nodes = "daemon.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0]"
	values = append(values, "installation.roleListGroups[0]=*",
		`featureGates=PodUnavailableBudgetUpdateGate=true\,StatefulSetAutoResizePVCGate=true\,SidecarTerminator=true`,
		nodes+".key=type", nodes+".operator=NotIn", nodes+".values[0]=kwok",
		"daemon.bindAddress=$(NODE_ADDRESS)")
	values = append(values, strings.Fields(os.Getenv("CHART_VALUES"))...)
	// On a busy machine an answer may take seconds. A Pod that is created without it never gets what the apiserver adds.
	return l.install(ctx, l.cluster.Kubeconfig(), values, "podCreation.timeoutSeconds=30")
}

// imageValues returns the chart values that select the images.
func imageValues(programs []images.Image) ([]string, error) {
	var values []string
	for _, image := range programs {
		key, ok := chartKeys[strings.TrimPrefix(image.Repository, images.Registry+"/")]
		if !ok {
			return nil, fmt.Errorf("image %s: the chart has no value for it", image.Ref)
		}
		values = append(values, key+".image.repository="+image.Repository, key+".image.tag="+image.Tag)
	}
	return values, nil
}

// install installs or upgrades the chart, and waits until each workload is rolled out and the APIServices are
// available. Values are set as strings, so that a tag such as 1 stays a text.
func (l *local) install(ctx context.Context, kubeconfig string, values []string, numbers ...string) error {
	args := []string{"upgrade", "--install", "kruise", filepath.Join(l.root, "artifacts", "helm", "kruise"), "--namespace", releaseNamespace}
	for _, value := range values {
		args = append(args, "--set-string", value)
	}
	for _, number := range numbers {
		args = append(args, "--set", number)
	}
	l.say("installing the chart")
	if _, err := l.tool(ctx, kubeconfig, "helm", args...); err != nil {
		return err
	}
	for _, workload := range workloads {
		_, err := l.tool(ctx, kubeconfig, "kubectl", "--namespace", installationNamespace,
			"rollout", "status", workload, "--timeout="+rolloutTimeout)
		if err != nil {
			return l.explain(ctx, kubeconfig, err)
		}
		l.say("%s is ready", workload)
	}
	_, err := l.tool(ctx, kubeconfig, "kubectl", "wait", "--for=condition=Available", "--timeout="+rolloutTimeout,
		"apiservice", "--selector=app.kubernetes.io/name=kruise")
	return err
}

// explain adds the state of the installation in the cluster to an error, because the error of a wait only says that
// time is over.
func (l *local) explain(ctx context.Context, kubeconfig string, err error) error {
	pods, podsErr := l.tool(ctx, kubeconfig, "kubectl", "--namespace", installationNamespace, "get", "pods,events")
	if podsErr != nil {
		return err
	}
	return fmt.Errorf("%w\n%s", err, pods)
}

// example applies the example, waits until its Pods run and prints their state.
func (l *local) example(ctx context.Context) error {
	kubeconfig := l.cluster.Kubeconfig()
	for _, args := range [][]string{
		{"apply", "-f", filepath.Join(l.root, "artifacts", "examples", "cloneset.yaml")},
		{"wait", "cloneset/demo", "--for=jsonpath={.status.readyReplicas}=3", "--timeout=" + rolloutTimeout},
	} {
		if _, err := l.tool(ctx, kubeconfig, "kubectl", args...); err != nil {
			return err
		}
	}
	l.say("the example runs\n")
	shown, err := l.tool(ctx, kubeconfig, "kubectl", "get", "clonesets,pods")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(l.out, "$ kubectl get clonesets,pods\n%s\n", shown)
	return err
}

// tool runs kubectl or helm and returns its output. An error contains the error output of the command.
func (l *local) tool(ctx context.Context, kubeconfig, name string, args ...string) (string, error) {
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(ctx, l.cluster.Binary(name), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}
