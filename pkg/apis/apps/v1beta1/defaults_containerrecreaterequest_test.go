package v1beta1_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

func TestDefaultsOfARequest(t *testing.T) {
	type strategy = v1beta1.ContainerRecreateRequestStrategy
	for name, test := range map[string]struct{ written, want *strategy }{
		"no strategy":   {nil, &strategy{FailurePolicy: "Fail"}},
		"failurePolicy": {&strategy{OrderedRecreate: true}, &strategy{OrderedRecreate: true, FailurePolicy: "Fail"}},
		"kept":          {&strategy{FailurePolicy: "Ignore"}, &strategy{FailurePolicy: "Ignore"}},
	} {
		t.Run(name, func(t *testing.T) {
			request := &v1beta1.ContainerRecreateRequest{Spec: v1beta1.ContainerRecreateRequestSpec{Strategy: test.written}}
			newScheme(t).Default(request)
			require.Equal(t, test.want, request.Spec.Strategy)
		})
	}
}
