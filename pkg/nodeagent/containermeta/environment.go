package containermeta

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"kruise.io/kruise/pkg/containermeta"
)

const execTimeout = 3 * time.Second

// environmentHash returns the hash of the variables with the values in an instance, or zero and why it is not known.
func environmentHash(ctx context.Context, runtime Runtime, id string, variables []containermeta.Variable) (uint64, error) {
	if len(variables) == 0 {
		return containermeta.Expected(nil, nil, nil), nil
	}
	values, err := environment(ctx, runtime, id)
	if err != nil {
		return 0, err
	}
	return containermeta.Hash(variables, func(v containermeta.Variable) string { return values[v.Name] }), nil
}

// environment reads what an instance was started with. The runtimes tell it among their details, for images of any kind and
// whatever the container does meanwhile; where one does not, a program in the container is asked.
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

// detailed finds the environment in what runtimes tell beyond the interface, or returns nil.
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

// parse reads NAME=value. A line without a name goes on with the value before it.
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
