package containerreporter

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"kruise.io/kruise/pkg/containerreport"
)

// execTimeout limits the program in the container. It is short, because a worker of the queue waits for it.
const execTimeout = 3 * time.Second

// environmentHash returns the hash of the values that the variables have in an instance. It returns zero and an error
// when the values cannot be read. Without variables, it returns the same hash as containerreport.Expected, so the
// report compares equal.
func environmentHash(ctx context.Context, runtime Runtime, id string, variables []containerreport.Variable) (uint64, error) {
	if len(variables) == 0 {
		return containerreport.Expected(nil, nil, nil), nil
	}
	values, err := environment(ctx, runtime, id)
	if err != nil {
		return 0, err
	}
	return containerreport.Hash(variables, func(v containerreport.Variable) string { return values[v.Name] }), nil
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
	last := ""
	for _, line := range lines {
		name, value, found := strings.Cut(line, "=")
		if !found {
			values[last] += "\n" + line
			continue
		}
		values[name], last = value, name
	}
	return values
}
