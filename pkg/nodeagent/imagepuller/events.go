package imagepuller

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// Event reasons. Users' tools match them.
const (
	ReasonSucceeded = "PullImageSucceed"
	ReasonFailed    = "PullImageFailed"
)

// announce records the events of a completed pull on the NodeImage. A failure is also recorded on the owners of the tag.
func (c *Controller) announce(p *pull, t *task, took time.Duration, err error) {
	node := &corev1.ObjectReference{
		APIVersion: v1beta1.SchemeGroupVersion.String(), Kind: "NodeImage", Name: p.node.Name, UID: p.node.UID,
	}
	// A success is recorded on the NodeImage only. Programs search for this text, so its spelling is part of the contract.
	if err == nil {
		c.config.Recorder.Eventf(node, corev1.EventTypeNormal, ReasonSucceeded, "Image %s:%s, ecalpsedTime %v", t.image, t.tag, took)
		return
	}
	for i := range t.owners {
		c.config.Recorder.Eventf(&t.owners[i], corev1.EventTypeWarning, ReasonFailed, "Image %s:%s %s", t.image, t.tag, shortened(err.Error()))
	}
	c.config.Recorder.Eventf(node, corev1.EventTypeWarning, ReasonFailed, "Image %s:%s %s", t.image, t.tag, shortened(err.Error()))
}
