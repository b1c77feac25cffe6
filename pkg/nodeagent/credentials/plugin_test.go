package credentials_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	testingclock "k8s.io/utils/clock/testing"

	"kruise.io/kruise/pkg/nodeagent/credentials"
)

// node is the plugin folder of a node and the file that names the plugins.
type node struct {
	t           *testing.T
	dir, config string
	clock       *testingclock.FakePassiveClock
}

func newNode(t *testing.T) *node {
	t.Helper()
	dir := t.TempDir()
	return &node{t: t, dir: dir, config: filepath.Join(dir, "config.yaml"), clock: testingclock.NewFakePassiveClock(time.Unix(1000, 0))}
}

// program writes a plugin that counts its runs and stores the requests it gets.
func (n *node) program(name, script string) {
	n.t.Helper()
	text := "#!/bin/sh\ncat > " + n.dir + "/" + name + ".in\necho \"$*\" >> " + n.dir + "/" + name + ".runs\n" + script + "\n"
	require.NoError(n.t, os.WriteFile(filepath.Join(n.dir, name), []byte(text), 0o700))
}

func (n *node) runs(name string) int {
	n.t.Helper()
	data, err := os.ReadFile(filepath.Join(n.dir, name+".runs"))
	if os.IsNotExist(err) {
		return 0
	}
	require.NoError(n.t, err)
	return strings.Count(string(data), "\n")
}

const header = "apiVersion: kubelet.config.k8s.io/v1\nkind: CredentialProviderConfig\nproviders:\n"

// provider returns the configuration of one plugin.
func provider(name, match string) string {
	return "- {name: " + name + ", matchImages: ['" + match + "'], defaultCacheDuration: 10m, apiVersion: credentialprovider.kubelet.k8s.io/v1}\n"
}

func (n *node) load(text string) (*credentials.Plugins, error) {
	n.t.Helper()
	require.NoError(n.t, os.WriteFile(n.config, []byte(text), 0o600))
	return credentials.LoadPlugins(n.config, n.dir, n.clock)
}

// answer returns a script that prints an answer.
func answer(fields string) string {
	return `echo '{"kind":"CredentialProviderResponse","apiVersion":"credentialprovider.kubelet.k8s.io/v1",` + fields + `}'`
}

const jane = `"auth":{"*.example.com":{"username":"jane","password":"x"}}`

func lookup(t *testing.T, plugins *credentials.Plugins, image string) ([]credentials.Credential, error) {
	t.Helper()
	var keyring credentials.Keyring
	_, err := plugins.AddTo(t.Context(), &keyring, image)
	return keyring.Lookup(image), err
}

// Case node-agent 22.
func TestPluginReturnsCredentials(t *testing.T) {
	n := newNode(t)
	n.program("plain", answer(`"cacheKeyType":"Registry",`+jane))
	plugins, err := n.load(header + "- {name: plain, matchImages: ['*.example.com'], defaultCacheDuration: 10m, " +
		"apiVersion: credentialprovider.kubelet.k8s.io/v1, args: [get, it], env: [{name: A, value: b}]}\n")
	require.NoError(t, err)
	got, err := lookup(t, plugins, "a.example.com/app")
	require.NoError(t, err)
	assert.Equal(t, []credentials.Credential{{Username: "jane", Password: "x"}}, got)
	asked, err := os.ReadFile(filepath.Join(n.dir, "plain.in"))
	require.NoError(t, err)
	assert.JSONEq(t, `{"kind":"CredentialProviderRequest","apiVersion":"credentialprovider.kubelet.k8s.io/v1","image":"a.example.com/app"}`, string(asked))
	args, err := os.ReadFile(filepath.Join(n.dir, "plain.runs"))
	require.NoError(t, err)
	assert.Equal(t, "get it\n", string(args))

	got, err = lookup(t, plugins, "example.org/app")
	require.NoError(t, err)
	assert.Empty(t, got)
	assert.Equal(t, 1, n.runs("plain"), "it is not for that image")
}

// Case node-agent 22.
func TestWithoutAConfigurationThereAreNoPlugins(t *testing.T) {
	plugins, err := credentials.LoadPlugins("/does/not/exist", "/does/not/exist", nil)
	require.NoError(t, err)
	got, err := lookup(t, plugins, "example.com/app")
	require.NoError(t, err)
	assert.Empty(t, got)
}

// Case node-agent 22.
func TestFailingPluginDoesNotBlockPulls(t *testing.T) {
	tests := map[string]struct{ script, want string }{
		"it fails":           {"echo no login >&2; exit 3", "credential provider plugin bad: run "},
		"it complains":       {"echo no login >&2; exit 3", "no login"},
		"it prints no JSON":  {"echo s3cret", "the response is not valid JSON of a CredentialProviderResponse"},
		"another kind":       {`echo '{"kind":"X","apiVersion":"v1"}'`, `the response has kind "X" of "v1"`},
		"a key type unknown": {answer(`"cacheKeyType":"s",` + jane), `the response has cacheKeyType "s"`},
		"no registry":        {answer(`"cacheKeyType":"Image","auth":{"":{"username":"u","password":"s3cret"}}`), "is not a registry"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.program("bad", test.script)
			n.program("good", answer(`"cacheKeyType":"Registry",`+jane))
			plugins, err := n.load(header + provider("bad", "*.example.com") + provider("good", "*.example.com"))
			require.NoError(t, err)
			got, err := lookup(t, plugins, "a.example.com/app")
			require.ErrorContains(t, err, test.want)
			assert.NotContains(t, err.Error(), "s3cret")
			assert.Len(t, got, 1, "the other one serves")
		})
	}
}

func TestAnswersAreKept(t *testing.T) {
	tests := map[string]struct {
		answer string
		images []string
		want   int
	}{
		"by image":       {`"cacheKeyType":"Image",` + jane, []string{"a.example.com/x", "a.example.com/x", "a.example.com/y"}, 2},
		"by registry":    {`"cacheKeyType":"Registry",` + jane, []string{"a.example.com/x", "a.example.com/y", "b.example.com/x"}, 2},
		"for all":        {`"cacheKeyType":"Global",` + jane, []string{"a.example.com/x", "b.example.com/y"}, 1},
		"not at all":     {`"cacheKeyType":"Global","cacheDuration":"0s",` + jane, []string{"a.example.com/x", "a.example.com/x"}, 2},
		"that are empty": {`"cacheKeyType":"Registry"`, []string{"a.example.com/x", "a.example.com/x"}, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.program("plain", answer(test.answer))
			plugins, err := n.load(header + provider("plain", "*.example.com"))
			require.NoError(t, err)
			for _, image := range test.images {
				_, err := lookup(t, plugins, image)
				require.NoError(t, err)
			}
			assert.Equal(t, test.want, n.runs("plain"))
		})
	}
}

func TestAnswersExpire(t *testing.T) {
	for name, test := range map[string]struct {
		answer string
		after  time.Duration
	}{
		"as the plugin says": {`"cacheKeyType":"Global","cacheDuration":"1m",` + jane, time.Minute},
		"as the file says":   {`"cacheKeyType":"Global",` + jane, 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.program("plain", answer(test.answer))
			plugins, err := n.load(header + provider("plain", "*.example.com"))
			require.NoError(t, err)
			for _, step := range []struct {
				at   time.Duration
				want int
			}{{0, 1}, {test.after - time.Second, 1}, {test.after, 2}} {
				n.clock.SetTime(time.Unix(1000, 0).Add(step.at))
				_, err := lookup(t, plugins, "a.example.com/x")
				require.NoError(t, err)
				assert.Equal(t, step.want, n.runs("plain"))
			}
		})
	}
}

func TestPluginEndsWithItsContext(t *testing.T) {
	n := newNode(t)
	n.program("slow", "exec sleep 60")
	plugins, err := n.load(header + provider("slow", "example.com"))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	var keyring credentials.Keyring
	began := time.Now()
	failed, err := plugins.AddTo(ctx, &keyring, "example.com/app")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Equal(t, []string{"slow"}, failed)
	assert.Less(t, time.Since(began), 10*time.Second)
}

func TestConfigMistakes(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"another kind": {"apiVersion: kubelet.config.k8s.io/v1\nkind: KubeletConfiguration\n", `found kind "KubeletConfiguration"`},
		"another version": {"apiVersion: v1\nkind: CredentialProviderConfig\n",
			`of "v1"; use kind CredentialProviderConfig of kubelet.config.k8s.io/v1`},
		"no YAML":                   {"{", "config.yaml"},
		"unknown field":             {header + "- {name: good, bogus: 1}\n", `bogus`},
		"is not an executable file": {header + provider("missing", "example.com"), `providers[0] "missing": name: stat `},
		"a path":                    {header + provider("../good", "example.com"), "without a path"},
		"a folder":                  {header + provider("folder", "example.com"), "folder is not an executable file"},
		"twice": {header + provider("good", "example.com") + provider("good", "example.com"),
			`providers[1] "good": the name is used twice; rename one plugin`},
		"no images": {header + "- {name: good, defaultCacheDuration: 1m, apiVersion: credentialprovider.kubelet.k8s.io/v1}\n",
			"matchImages: set at least one"},
		"no registry": {header + provider("good", ""), "matchImages: \"\" is not a registry"},
		"no duration": {header + "- {name: good, matchImages: [a.com], apiVersion: credentialprovider.kubelet.k8s.io/v1}\n",
			"defaultCacheDuration: must be set"},
		"no protocol": {header + "- {name: good, matchImages: [a.com], defaultCacheDuration: 1m}\n", `apiVersion: "" is not supported`},
		"tokens of Pods": {header + "- {name: good, matchImages: [a.com], defaultCacheDuration: 1m, apiVersion: credentialprovider.kubelet.k8s.io/v1, " +
			"tokenAttributes: {serviceAccountTokenAudience: a, cacheType: Token, requireServiceAccount: true}}\n", "tokenAttributes: not supported"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.program("good", answer(`"cacheKeyType":"Global","auth":{"good.com":{"username":"jane","password":"x"}}`))
			require.NoError(t, os.Mkdir(filepath.Join(n.dir, "folder"), 0o700))
			plugins, err := n.load(test.text)
			require.ErrorContains(t, err, test.want)
			assert.NotNil(t, plugins)
		})
	}
}

func TestOneMistakeLeavesTheOthers(t *testing.T) {
	n := newNode(t)
	n.program("good", answer(`"cacheKeyType":"Global",`+jane))
	plugins, err := n.load(header + provider("missing", "*.example.com") + provider("good", "*.example.com"))
	require.Error(t, err)
	got, err := lookup(t, plugins, "a.example.com/app")
	require.NoError(t, err)
	assert.Len(t, got, 1)
}

func TestOlderVersionsOfTheFile(t *testing.T) {
	for _, version := range []string{"v1beta1", "v1alpha1"} {
		n := newNode(t)
		n.program("old", `echo '{"kind":"CredentialProviderResponse","apiVersion":"credentialprovider.kubelet.k8s.io/`+version+`","cacheKeyType":"Global",`+jane+`}'`)
		plugins, err := n.load("apiVersion: kubelet.config.k8s.io/" + version + "\nkind: CredentialProviderConfig\nproviders:\n" +
			strings.ReplaceAll(provider("old", "*.example.com"), ".io/v1}", ".io/"+version+"}"))
		require.NoError(t, err)
		got, err := lookup(t, plugins, "a.example.com/app")
		require.NoError(t, err)
		assert.Len(t, got, 1, version)
	}
}
