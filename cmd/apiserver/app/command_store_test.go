package app

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// runCommand runs the program with these arguments, and returns what it prints.
func runCommand(t *testing.T, args ...string) (string, error) {
	t.Helper()
	command, err := NewCommand()
	require.NoError(t, err)
	var out bytes.Buffer
	command.SetOut(&out)
	command.SetErr(&out)
	command.SetArgs(args)
	err = command.ExecuteContext(t.Context())
	return out.String(), err
}

func TestStoreCommandsHaveTheirOwnHelp(t *testing.T) {
	out, err := runCommand(t, "store", "--help")
	require.NoError(t, err)
	for _, name := range []string{"snapshot", "restore", "copy", "encrypt", "defragment"} {
		assert.Contains(t, out, "\n  "+name+" ")
	}
	out, err = runCommand(t, "store", "snapshot", "--help")
	require.NoError(t, err)
	assert.Contains(t, out, "--etcd-servers")
	assert.NotContains(t, out, "--secure-port", "a flag of the server")
}

func TestStoreCommandsRefuse(t *testing.T) {
	empty := t.TempDir()
	tests := map[string]struct {
		args []string
		want string
	}{
		"no file":            {[]string{"snapshot"}, "accepts 1 arg(s), received 0"},
		"a missing snapshot": {[]string{"restore", empty + "/missing"}, "open the snapshot"},
		"no source":          {[]string{"copy", "--data-dir=" + empty}, "set exactly one of --from-snapshot, from-data-dir and from-etcd-servers (0 are set)"},
		"two sources": {
			[]string{"copy", "--from-data-dir=a", "--from-snapshot=b", "--data-dir=" + empty}, "set exactly one of --from-snapshot",
		},
		"no target":        {[]string{"copy", "--from-data-dir=" + empty}, "set exactly one of --data-dir and etcd-servers (0 are set)"},
		"an empty source":  {[]string{"copy", "--from-data-dir=" + empty, "--etcd-servers=http://127.0.0.1:1"}, empty + " holds no store"},
		"no configuration": {[]string{"encrypt"}, "set --encryption-provider-config"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := runCommand(t, append([]string{"store"}, test.args...)...)
			assert.ErrorContains(t, err, test.want)
		})
	}
}
