package rollout

import (
	"encoding/json"
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The texts of undo --fast.
var (
	errOnlyRollouts  = errors.New("--fast only works for Rollouts; run rollout undo without it")
	errNoBlueGreen   = errors.New("is not in a blue-green release; run rollout undo without --fast")
	errNoQuietStep   = errors.New("has no earlier step without traffic; run rollout undo without --fast")
	errAlreadyUndone = errors.New("already rolled back")
)

// stepBack returns the patch of the status that moves the traffic of a Rollout in a blue-green release back to the old revision. The
// Rollout returns to the last step, up to the current one, that sends no traffic to the new Pods. The new Pods stay. Replicas never
// become fewer from step to step, so no other such step has more.
func stepBack(object *unstructured.Unstructured) ([]byte, error) {
	status, found, err := unstructured.NestedMap(object.Object, "status", "blueGreenStatus")
	if err != nil || !found {
		return nil, errNoBlueGreen
	}
	current, _, _ := unstructured.NestedInt64(status, "currentStepIndex")
	next, _, _ := unstructured.NestedInt64(status, "nextStepIndex")
	steps, _, _ := unstructured.NestedSlice(object.Object, "spec", "strategy", "blueGreen", "steps")
	// Steps are counted from one. Before the first step, the current one is 0.
	target := min(current, int64(len(steps)))
	for target > 0 && sendsTraffic(steps[target-1]) {
		target--
	}
	switch {
	case target <= 0:
		return nil, errNoQuietStep
	case target == current || target == next:
		return nil, errAlreadyUndone
	}
	// The controller of Rollouts goes to the next step that the status names. The resourceVersion makes sure that the step is still the
	// one that the user saw.
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": object.GetResourceVersion()},
		"status":   map[string]any{"blueGreenStatus": map[string]any{"nextStepIndex": target}},
	})
}

// sendsTraffic reports whether a step sends requests to the new Pods: a share of them, or those that match.
func sendsTraffic(step any) bool {
	fields, ok := step.(map[string]any)
	if !ok {
		return true
	}
	matches, _, _ := unstructured.NestedSlice(fields, "matches")
	if len(matches) > 0 {
		return true
	}
	traffic, _, _ := unstructured.NestedString(fields, "traffic")
	return traffic != "" && traffic != "0" && traffic != "0%"
}
