// Package workloadspread returns the slot of a Pod when its deletion or eviction is admitted, so that the Pod that replaces it goes to
// the same subset of its WorkloadSpread. It refuses nothing. It runs after the plugin of budgets, so a refused disruption returns no
// slot. It reads the owners of the Pod, because only a Pod of the target has a slot. New Pods get their slots in pkg/admission/pod.
// Enter at Plugin.Validate.
package workloadspread
