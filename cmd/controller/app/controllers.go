package app

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	policyv1beta1 "kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/controller/cloneset"
	"kruise.io/kruise/pkg/controller/containerrecreaterequest"
	"kruise.io/kruise/pkg/controller/podreadiness"
	"kruise.io/kruise/pkg/controller/podunavailablebudget"
)

// controllers is every controller. The flag of a row's workers is --<name>-workers.
var controllers = []struct {
	name string
	// requires is what the API server must serve before the controller can start.
	requires []schema.GroupVersionResource
	new      func(controller.Deps) (*controller.Controller, error)
}{
	{"cloneset", []schema.GroupVersionResource{v1beta1.SchemeGroupVersion.WithResource("clonesets")}, cloneset.New},
	{"crr", []schema.GroupVersionResource{v1beta1.SchemeGroupVersion.WithResource("containerrecreaterequests")}, containerrecreaterequest.New},
	{"podreadiness", nil, podreadiness.New},
	{"podunavailablebudget", []schema.GroupVersionResource{
		policyv1beta1.SchemeGroupVersion.WithResource("podunavailablebudgets"), v1beta1.SchemeGroupVersion.WithResource("clonesets"),
		v1beta1.SchemeGroupVersion.WithResource("statefulsets"),
	}, podunavailablebudget.New},
}
