package readiness

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/podstate"
)

// Key identifies a party and its reason to keep a Pod out of service.
type Key struct {
	UserAgent string `json:"userAgent"`
	Key       string `json:"key"`
}

// The keys of lifecycle hooks.
var (
	PreDelete = Key{UserAgent: "Lifecycle", Key: "preDeleteHook"}
	PreUpdate = Key{UserAgent: "Lifecycle", Key: "preUpdateHook"}
)

// Gated reports whether the Pod has the readiness gate. Without the gate, keys have no effect and are not written.
func Gated(pod *corev1.Pod) bool { return podstate.HasGate(pod, pub.KruisePodReadyConditionType) }

// Unset reports whether the Pod has the gate but no condition yet.
func Unset(pod *corev1.Pod) bool {
	return Gated(pod) && podstate.Condition(pod, pub.KruisePodReadyConditionType) == nil
}

// Begin sets the Pod's first condition, with no keys. It replaces an existing one, so call it only if Unset is true.
func Begin(pod *corev1.Pod, now time.Time) {
	podstate.SetCondition(pod, corev1.PodCondition{
		Type: pub.KruisePodReadyConditionType, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now),
	})
}

// Keys returns the keys that keep the Pod out of service. If the condition is True or missing, there are none.
func Keys(pod *corev1.Pod) []Key {
	c := podstate.Condition(pod, pub.KruisePodReadyConditionType)
	if c == nil || c.Status == corev1.ConditionTrue {
		return nil
	}
	return keys(c)
}

// Has reports whether the key keeps the Pod out of service.
func Has(pod *corev1.Pod, key Key) bool {
	return slices.Contains(Keys(pod), key)
}

// Add adds the key and takes the Pod out of service at once by setting Ready to False too. It returns whether anything changed.
// A Pod without the gate does not change. Keys of other parties stay.
func Add(pod *corev1.Pod, key Key, now time.Time) bool {
	if !Gated(pod) || Has(pod, key) {
		return false
	}
	held := keys(podstate.Condition(pod, pub.KruisePodReadyConditionType))
	if !slices.Contains(held, key) {
		held = append(held, key)
	}
	write(pod, held, now)
	podstate.Withdraw(pod, now)
	return true
}

// Remove removes the key, and returns whether anything changed. If keys of other parties are left, the Pod stays out of
// service. Otherwise the kubelet sets Ready.
func Remove(pod *corev1.Pod, key Key, now time.Time) bool {
	c := podstate.Condition(pod, pub.KruisePodReadyConditionType)
	if !Gated(pod) || !slices.Contains(keys(c), key) {
		return false
	}
	write(pod, slices.DeleteFunc(keys(c), func(k Key) bool { return k == key }), now)
	return true
}

// keys returns the keys in a condition's message. A message that cannot be parsed holds no keys. A party that still keeps the
// Pod out of service then adds its key again.
func keys(c *corev1.PodCondition) (held []Key) {
	if c == nil || json.Unmarshal([]byte(c.Message), &held) != nil {
		return nil
	}
	return held
}

// write writes the condition with the keys, sorted, so that the same keys give the same message.
func write(pod *corev1.Pod, held []Key, now time.Time) {
	slices.SortFunc(held, func(a, b Key) int {
		return cmp.Or(cmp.Compare(a.UserAgent, b.UserAgent), cmp.Compare(a.Key, b.Key))
	})
	status := corev1.ConditionTrue
	if len(held) > 0 {
		status = corev1.ConditionFalse
	}
	podstate.SetCondition(pod, corev1.PodCondition{
		Type: pub.KruisePodReadyConditionType, Status: status, Message: message(held), LastTransitionTime: metav1.NewTime(now),
	})
}

// message returns the keys as JSON. An empty list is "[]", which other programs expect.
func message(held []Key) string {
	if len(held) == 0 {
		return "[]"
	}
	text, err := json.Marshal(held)
	if err != nil {
		return "[]" // Strings always encode.
	}
	return string(text)
}
