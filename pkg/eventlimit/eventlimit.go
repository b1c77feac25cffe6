// Package eventlimit says how many events of an object are sent. All programs use it, so that they limit events alike.
package eventlimit

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
)

// PerReason returns an option for event broadcasters. By default, the first 25 events of an object use up what it may have for some
// minutes, so the creations of many Pods would hide why the next step fails. With this option, each reason of an object has its own 25.
// remembered is how many events are cached to count repetitions. Zero is the default of the library.
func PerReason(remembered int) record.BroadcasterOption {
	return record.WithCorrelatorOptions(record.CorrelatorOptions{LRUCacheSize: remembered, SpamKeyFunc: func(event *corev1.Event) string {
		object := &event.InvolvedObject
		return strings.Join([]string{
			event.Source.Component, object.APIVersion, object.Kind, object.Namespace, object.Name, string(object.UID), event.Type, event.Reason,
		}, "\x00")
	}})
}
