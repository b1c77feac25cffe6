package main

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/generated/clientset/versioned/fake"
)

// TestRun runs the steps against the generated fake, which merges applied fields as a
// server does. The fake does not default: the test does.
func TestRun(t *testing.T) {
	clients := fake.NewClientset()
	clients.PrependReactor("create", "clonesets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		created := action.(clienttesting.CreateAction).GetObject().(*v1beta1.CloneSet)
		replicas := int32(1)
		created.Spec.Replicas = &replicas
		return false, nil, nil
	})
	output := &strings.Builder{}
	cloneSets := clients.AppsV1beta1().CloneSets("default")
	budgets := clients.PolicyV1beta1().PodUnavailableBudgets("default")
	example := &example{
		cloneSets: cloneSets, nodeImages: clients.AppsV1beta1().NodeImages(), budgets: budgets,
		name: "demo", image: "demo:v1", timeout: 10 * time.Second, out: output,
	}
	if err := example.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := "listed 0 CloneSets and 0 NodeImages\ncreated demo with 1 replicas\n" +
		"created a budget of 1 Pods for demo\napplied minReadySeconds 1\nwatched generation 0\ndeleted demo\n"
	if output.String() != want {
		t.Errorf("printed\n%s, want\n%s", output, want)
	}
	left, err := cloneSets.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(left.Items) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
	budgetsLeft, err := budgets.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(budgetsLeft.Items) != 0 {
		t.Errorf("left %v, %v", budgetsLeft, err)
	}
}

// TestApply checks that applying one field leaves the others as they were created, and that
// owners are recorded by field.
func TestApply(t *testing.T) {
	cloneSets := fake.NewClientset().AppsV1beta1().CloneSets("default")
	example := &example{cloneSets: cloneSets, name: "demo", image: "demo:v1"}
	if _, err := cloneSets.Create(t.Context(), example.cloneSet(), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	applied, err := cloneSets.Apply(t.Context(), example.patch("default"), metav1.ApplyOptions{FieldManager: fieldManager})
	if err != nil {
		t.Fatal(err)
	}
	if applied.Spec.MinReadySeconds != 1 || applied.Spec.Template.Spec.Containers[0].Image != "demo:v1" {
		t.Errorf("applied %+v", applied.Spec)
	}
	owned := ""
	for _, entry := range applied.ManagedFields {
		if entry.Manager == fieldManager {
			owned = string(entry.FieldsV1.GetRawBytes())
		}
	}
	if owned != `{"f:spec":{"f:minReadySeconds":{}}}` {
		t.Errorf("%s owns %s", fieldManager, owned)
	}
}
