package recovery

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/klog/v2"
)

func TestPanicBecomesAnError(t *testing.T) {
	refused := errors.New("refused")
	call := func(f func() error) (err error) {
		defer Into(klog.Background(), &err)
		return f()
	}
	assert.EqualError(t, call(func() error { panic("a wrong patch") }), "panic: a wrong patch")
	assert.Equal(t, refused, call(func() error { return refused }))
	assert.NoError(t, call(func() error { return nil }))
}
