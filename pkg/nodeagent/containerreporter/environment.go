package containerreporter

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/containerreport"
)

// execTimeout limits the program in the container, and execAnswer the answer of the runtime. Both are short, because a worker of the
// queue waits for them.
const (
	execTimeout = 3 * time.Second
	execAnswer  = 5 * time.Second
)

// environmentHash returns the hash of the values that the variables of a container have in an instance. It returns zero and an error
// when the values cannot be read. Without variables, it returns the same hash as containerreport.Expected, so the
// report compares equal.
func (c *Controller) environmentHash(ctx context.Context, runtime Runtime, id string, r *knownPod, in *instance) (uint64, error) {
	if !in.reads {
		return containerreport.Expected(nil, nil, nil), nil
	}
	variables, err := c.variablesOf(ctx, r, in)
	if err != nil {
		return 0, err
	}
	values, err := environment(ctx, runtime, id)
	if err != nil {
		return 0, err
	}
	return containerreport.Hash(variables, func(v containerreport.Variable) string { return values[v.Name] }), nil
}

// variablesOf returns the variables of a container that read metadata. If the Pod has too many to keep, it reads the Pod. The
// variables of a Pod never change, so an old answer is good enough.
func (c *Controller) variablesOf(ctx context.Context, r *knownPod, in *instance) ([]containerreport.Variable, error) {
	if in.variables != nil {
		return in.variables, nil
	}
	pod, err := c.config.Client.Pods(r.Namespace).Get(ctx, r.Name, metav1.GetOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, fmt.Errorf("get Pod: %w", err)
	}
	if pod.UID != r.UID {
		return nil, fmt.Errorf("get Pod: its UID is %s, and not %s any more", pod.UID, r.UID)
	}
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == in.name {
			return containerreport.VariablesOf(&pod.Spec.Containers[i]), nil
		}
	}
	return nil, fmt.Errorf("the Pod has no container %s", in.name)
}

// environment returns the variables that an instance was started with. It prefers the verbose status of the runtime,
// which works for every image and in every state of the container. If the runtime does not report variables, it runs
// a program in the container.
func environment(ctx context.Context, runtime Runtime, id string) (map[string]string, error) {
	status, err := runtime.ContainerStatus(ctx, id, true)
	if err != nil {
		return nil, fmt.Errorf("get status of container %s: %w", id, err)
	}
	if lines := detailed(status.GetInfo()["info"]); lines != nil {
		return parse(lines), nil
	}
	ctx, cancel := context.WithTimeout(ctx, execAnswer)
	defer cancel()
	stdout, _, err := runtime.ExecSync(ctx, id, []string{"env"}, execTimeout)
	if err != nil {
		return nil, fmt.Errorf("run env in container %s: %w", id, err)
	}
	return parse(strings.Split(strings.TrimSuffix(string(stdout), "\n"), "\n")), nil
}

// detailed returns the environment in the verbose status of a runtime, or nil. CRI does not define this field. The
// environment of the process comes first, the one that was requested second.
func detailed(info string) []string {
	var details struct {
		RuntimeSpec struct {
			Process struct{ Env []string }
		}
		Config struct {
			Envs []struct{ Key, Value string }
		}
	}
	if json.Unmarshal([]byte(info), &details) != nil {
		return nil
	}
	if lines := details.RuntimeSpec.Process.Env; len(lines) > 0 {
		return lines
	}
	var lines []string
	for _, env := range details.Config.Envs {
		lines = append(lines, env.Key+"="+env.Value)
	}
	return lines
}

// parse reads lines of the form NAME=value. A line without a name continues the previous value.
func parse(lines []string) map[string]string {
	values := map[string]string{}
	// The lines of one value are joined once. A container can print any number of them.
	first := 0
	for next := 1; next <= len(lines); next++ {
		if next < len(lines) && !strings.Contains(lines[next], "=") {
			continue
		}
		name, value, found := strings.Cut(strings.Join(lines[first:next], "\n"), "=")
		if found {
			values[name] = value
		}
		first = next
	}
	return values
}
