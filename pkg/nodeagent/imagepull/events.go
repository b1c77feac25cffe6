package imagepull

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// Reasons of events.
const (
	ReasonSucceeded = "PullImageSucceed"
	ReasonFailed    = "PullImageFailed"
)

// announce writes the events of a pull that has ended: on the NodeImage, and a failure on those who want the image too.
func (c *Controller) announce(p *pull, t *task, took time.Duration, err error) {
	node := &corev1.ObjectReference{
		APIVersion: v1beta1.SchemeGroupVersion.String(), Kind: "NodeImage", Name: p.node.Name, UID: p.node.UID,
	}
	if err == nil {
		c.config.Recorder.Eventf(node, corev1.EventTypeNormal, ReasonSucceeded, "Image %s:%s, ecalpsedTime %v", t.image, t.tag, took)
		return
	}
	for i := range t.owners {
		c.config.Recorder.Eventf(&t.owners[i], corev1.EventTypeWarning, ReasonFailed, "Image %s:%s %s", t.image, t.tag, shortened(err.Error()))
	}
	c.config.Recorder.Eventf(node, corev1.EventTypeWarning, ReasonFailed, "Image %s:%s %s", t.image, t.tag, shortened(err.Error()))
}
