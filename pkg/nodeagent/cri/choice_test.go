package cri

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestChoice(t *testing.T) {
	containerd, docker := &Runtime{Name: "containerd"}, &Runtime{Name: "docker"}
	both := Runtimes{containerd, docker}
	tests := map[string]struct {
		runtimes Runtimes
		version  string
		err      error
		want     *Runtime
		problem  string
	}{
		"the Node names the second one": {both, "docker://27.0.1", nil, docker, ""},
		"the Node names the first one":  {both, "containerd://2.1.0", nil, containerd, ""},
		"the Node names none":           {both, "", nil, containerd, ""},
		"the Node names another one":    {both, "cri-o://1.34.0", nil, nil, "the kubelet uses cri-o://1.34.0, and the agent did not find its socket"},
		"the Node cannot be read":       {both, "", errors.New("away"), nil, "read which runtime the kubelet uses: away"},
		"only one":                      {Runtimes{containerd}, "", errors.New("not asked"), containerd, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			choice := NewChoice(tc.runtimes, func(context.Context) (string, error) { return tc.version, tc.err })
			got, err := choice.Runtime(t.Context())
			if tc.problem != "" {
				require.ErrorContains(t, err, tc.problem)
				return
			}
			require.NoError(t, err)
			assert.Same(t, tc.want, got)
		})
	}
}

// The Node is read again until it names a runtime, and then no more.
func TestChoiceIsMadeOnce(t *testing.T) {
	docker := &Runtime{Name: "docker"}
	version, asked := "", 0
	choice := NewChoice(Runtimes{{Name: "containerd"}, docker}, func(context.Context) (string, error) {
		asked++
		return version, nil
	})
	for _, version = range []string{"", "docker://27.0.1", "containerd://2.1.0"} {
		_, err := choice.Runtime(t.Context())
		require.NoError(t, err)
	}
	got, err := choice.Runtime(t.Context())
	require.NoError(t, err)
	assert.Same(t, docker, got)
	assert.Equal(t, 2, asked)
}
