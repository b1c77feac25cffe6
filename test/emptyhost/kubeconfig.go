// Package emptyhost is a host cluster that serves no API, for tests of how programs build their clients. Enter at Kubeconfig.
package emptyhost

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Kubeconfig starts a server that answers each request with 404 and a text, and returns the path of a kubeconfig for it. The server runs
// until the test ends.
func Kubeconfig(t *testing.T) (path string) {
	t.Helper()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	path = filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"clusters":[{"name":"a","cluster":{"server":%q}}],`+
		`"contexts":[{"name":"a","context":{"cluster":"a"}}],"current-context":"a"}`, server.URL)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}
