package app

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/component-base/featuregate"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	policyv1beta1 "kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/controller/cloneset"
	"kruise.io/kruise/pkg/controller/containerrecreaterequest"
	"kruise.io/kruise/pkg/controller/imagelistpulljob"
	"kruise.io/kruise/pkg/controller/imagepulljob"
	"kruise.io/kruise/pkg/controller/nodeimage"
	"kruise.io/kruise/pkg/controller/podreadiness"
	"kruise.io/kruise/pkg/controller/podunavailablebudget"
	"kruise.io/kruise/pkg/features"
)

// constructor makes a controller that runs nothing yet.
type constructor func(controller.Deps) (*controller.Controller, error)

// controllers is every controller. The flag of a row's workers is --<name>-workers.
var controllers = []struct {
	name string
	// requires is what the API server must serve before the controller can start.
	requires []schema.GroupVersionResource
	new      constructor
}{
	{"cloneset", []schema.GroupVersionResource{v1beta1.SchemeGroupVersion.WithResource("clonesets")}, cloneset.New},
	{"crr", []schema.GroupVersionResource{v1beta1.SchemeGroupVersion.WithResource("containerrecreaterequests")}, containerrecreaterequest.New},
	{"podreadiness", nil, podreadiness.New},
	{"podunavailablebudget", []schema.GroupVersionResource{
		policyv1beta1.SchemeGroupVersion.WithResource("podunavailablebudgets"), v1beta1.SchemeGroupVersion.WithResource("clonesets"),
		v1beta1.SchemeGroupVersion.WithResource("statefulsets"),
	}, podunavailablebudget.New},
	{"nodeimage", []schema.GroupVersionResource{
		v1beta1.SchemeGroupVersion.WithResource("nodeimages"), v1beta1.SchemeGroupVersion.WithResource("imagepulljobs"),
	}, whenOn(nodeimage.New, features.KruiseDaemon)},
	{"imagepulljob", nil, whenOn(imagepulljob.New, features.KruiseDaemon, features.ImagePullJobGate)},
	{"imagelistpulljob", []schema.GroupVersionResource{v1beta1.SchemeGroupVersion.WithResource("imagelistpulljobs")},
		whenOn(imagelistpulljob.New, features.KruiseDaemon, features.ImagePullJobGate)},
}

// whenOn makes no controller while one of the gates is off.
func whenOn(construct constructor, gates ...featuregate.Feature) constructor {
	return func(deps controller.Deps) (*controller.Controller, error) {
		for _, gate := range gates {
			if !deps.Features.Enabled(gate) {
				return nil, nil
			}
		}
		return construct(deps)
	}
}
