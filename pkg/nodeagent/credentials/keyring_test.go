package credentials_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/nodeagent/credentials"
)

func TestLookup(t *testing.T) {
	tests := map[string]struct {
		patterns []string
		image    string
		want     []string
	}{
		"the same host":                        {[]string{"example.com", "example.org"}, "example.com/app", []string{"example.com"}},
		"with a scheme and protocol version":   {[]string{"https://example.com/v2/", "http://example.com/v1/team"}, "example.com/team/app", []string{"http://example.com/v1/team", "https://example.com/v2/"}},
		"the longer path first":                {[]string{"example.com", "example.com/a/b", "example.com/a"}, "example.com/a/b/c", []string{"example.com/a/b", "example.com/a", "example.com"}},
		"a path of others":                     {[]string{"example.com/b"}, "example.com/a/b", nil},
		"the same port":                        {[]string{"example.com:5000", "example.com", "example.com:5001"}, "example.com:5000/app", []string{"example.com:5000"}},
		"a port that is not asked for":         {[]string{"example.com:5000"}, "example.com/app", nil},
		"a wildcard is one part":               {[]string{"*.example.com", "*.com", "a*.example.com"}, "abc.example.com/app", []string{"a*.example.com", "*.example.com"}},
		"what is exact before a wildcard":      {[]string{"*.example.com", "a.example.com"}, "a.example.com/app", []string{"a.example.com", "*.example.com"}},
		"the default registry's old name":      {[]string{"https://index.docker.io/v1/"}, "docker.io/library/nginx", []string{"https://index.docker.io/v1/"}},
		"the default registry's names, in one": {[]string{"index.docker.io", "docker.io"}, "docker.io/team/app", []string{"docker.io", "index.docker.io"}},
		"the old name is of that registry":     {[]string{"index.docker.io"}, "example.com/app", nil},
		"of one pattern in their order":        {[]string{"example.com", "https://example.com"}, "example.com/app", []string{"example.com", "https://example.com"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var keyring credentials.Keyring
			for _, pattern := range test.patterns {
				require.NoError(t, keyring.Add(pattern, credentials.Credential{Username: pattern}))
			}
			var got []string
			for _, credential := range keyring.Lookup(test.image) {
				got = append(got, credential.Username)
			}
			assert.Equal(t, test.want, got)
		})
	}
}

func TestCredentialIsOfferedOnce(t *testing.T) {
	var keyring credentials.Keyring
	for range 2 {
		require.NoError(t, keyring.Add("example.com", credentials.Credential{Username: "jane"}))
	}
	require.NoError(t, keyring.Add("example.com/team", credentials.Credential{Username: "jane"}))
	assert.Len(t, keyring.Lookup("example.com/team/app"), 1)
}

func TestAddRefusesInvalidRegistries(t *testing.T) {
	var keyring credentials.Keyring
	for _, pattern := range []string{"", "https://", "a b", "example.com:port", "[.com"} {
		assert.Error(t, keyring.Add(pattern, credentials.Credential{}), pattern)
	}
}

func TestSecrets(t *testing.T) {
	auth := base64.StdEncoding.EncodeToString([]byte("jane:s:cret"))
	jane := credentials.Credential{Username: "jane", Password: "s:cret"}
	tests := map[string]struct {
		kind      corev1.SecretType
		key, data string
		want      []credentials.Credential
		wantErr   string
	}{
		"dockerconfigjson": {corev1.SecretTypeDockerConfigJson, ".dockerconfigjson", `{"auths":{"example.com":{"username":"jane","password":"s:cret","email":"x"}}}`, []credentials.Credential{jane}, ""},
		"dockercfg":        {corev1.SecretTypeDockercfg, ".dockercfg", `{"example.com":{"username":"jane","password":"s:cret"}}`, []credentials.Credential{jane}, ""},
		"auth":             {corev1.SecretTypeDockercfg, ".dockercfg", `{"example.com":{"auth":"` + auth + `"}}`, []credentials.Credential{jane}, ""},
		"auth without padding": {corev1.SecretTypeDockercfg, ".dockercfg",
			`{"example.com":{"auth":"` + strings.TrimRight(auth, "=") + `"}}`, []credentials.Credential{jane}, ""},
		"auth with a newline": {corev1.SecretTypeDockercfg, ".dockercfg",
			`{"example.com":{"auth":"` + auth + `\n"}}`, []credentials.Credential{jane}, ""},
		"tokens": {corev1.SecretTypeDockercfg, ".dockercfg", `{"example.com":{"identitytoken":"i","registrytoken":"r"}}`, []credentials.Credential{{IdentityToken: "i", RegistryToken: "r"}}, ""},
		"one of two broken": {corev1.SecretTypeDockercfg, ".dockercfg",
			`{"a.com":{"auth":"s3cret!"},"example.com":{"auth":"` + auth + `"}}`, []credentials.Credential{jane}, `entry "a.com": auth is not base64 of name:password`},
		"an empty entry": {corev1.SecretTypeDockercfg, ".dockercfg",
			`{"example.com":{}}`, nil, `entry "example.com": none of username and password, auth or token is set`},
		"no registry":   {corev1.SecretTypeDockercfg, ".dockercfg", `{"":{"auth":"` + auth + `"}}`, nil, "is not a registry"},
		"no JSON":       {corev1.SecretTypeDockercfg, ".dockercfg", `s3cret!`, nil, "key .dockercfg is not valid JSON of a Docker configuration"},
		"the other key": {corev1.SecretTypeDockercfg, ".dockerconfigjson", `{}`, nil, "key .dockercfg is missing"},
		"another type":  {corev1.SecretTypeOpaque, ".dockercfg", `{}`, nil, `type "Opaque" is not supported`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var keyring credentials.Keyring
			err := keyring.AddSecret(&corev1.Secret{Type: test.kind, Data: map[string][]byte{test.key: []byte(test.data)}})
			if test.wantErr == "" {
				assert.NoError(t, err)
			} else {
				require.ErrorContains(t, err, test.wantErr)
				assert.NotContains(t, err.Error(), "s3cret", "an error shows nothing of the Secret")
			}
			assert.Equal(t, test.want, keyring.Lookup("example.com/app"))
		})
	}
}
