package app

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestConnectionIsRetriedUntilTheClientGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		returns := time.Now().Add(5 * time.Second)
		dial := untilConnected(func(context.Context, string, string) (net.Conn, error) {
			if time.Now().Before(returns) {
				return nil, errors.New("refused")
			}
			return nil, nil //nolint:nilnil // the connection is not looked at
		})
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, err := dial(ctx, "tcp", "etcd:2379")
		require.NoError(t, err)
		assert.Less(t, time.Since(returns), time.Second)

		returns = time.Now().Add(time.Hour)
		ctx, cancel = context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, err = dial(ctx, "tcp", "etcd:2379")
		assert.EqualError(t, err, "refused")
	})
}
