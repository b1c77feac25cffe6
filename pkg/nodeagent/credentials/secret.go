package credentials

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// dockerLogin is the entry of one registry in a Docker configuration. The JSON names are those of Docker.
type dockerLogin struct {
	Username string `json:"username"`
	Password string `json:"password"`
	// Auth is the base64 encoding of name:password.
	Auth          string `json:"auth"`
	IdentityToken string `json:"identitytoken"`
	RegistryToken string `json:"registrytoken"`
}

// AddSecret adds the credentials of a Secret. It adds the readable entries and returns an error for the others. The
// error never contains data of the Secret.
func (k *Keyring) AddSecret(secret *corev1.Secret) error {
	logins, err := loginsOf(secret)
	if err != nil {
		return err
	}
	// An unusable entry does not hide the others, and the order of the errors is stable.
	var errs []error
	for _, registry := range slices.Sorted(maps.Keys(logins)) {
		// The name of the entry is the pattern of the images.
		credential, err := logins[registry].credential()
		if err == nil {
			err = k.Add(registry, credential)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("entry %q: %w", registry, err))
		}
	}
	return errors.Join(errs...)
}

// loginsOf returns the logins in a Secret, by registry pattern. It accepts the two types that Kubernetes accepts as
// pull secrets.
func loginsOf(secret *corev1.Secret) (logins map[string]dockerLogin, err error) {
	switch secret.Type {
	case corev1.SecretTypeDockerConfigJson:
		var config struct {
			Auths map[string]dockerLogin `json:"auths"`
		}
		err = decode(secret, corev1.DockerConfigJsonKey, &config)
		return config.Auths, err
	case corev1.SecretTypeDockercfg:
		err = decode(secret, corev1.DockerConfigKey, &logins)
		return logins, err
	default:
		return nil, fmt.Errorf("type %q is not supported; use %s or %s", secret.Type,
			corev1.SecretTypeDockerConfigJson, corev1.SecretTypeDockercfg)
	}
}

// decode parses one key of the Secret as JSON.
func decode(secret *corev1.Secret, key string, into any) error {
	data, found := secret.Data[key]
	if !found {
		return fmt.Errorf("key %s is missing", key)
	}
	if json.Unmarshal(data, into) != nil {
		// The error of the decoder may contain part of the data.
		return fmt.Errorf("key %s is not valid JSON of a Docker configuration", key)
	}
	return nil
}

// credential converts a login. The field auth takes precedence over username and password.
func (l dockerLogin) credential() (Credential, error) {
	credential := Credential{
		Username: l.Username, Password: l.Password, IdentityToken: l.IdentityToken, RegistryToken: l.RegistryToken,
	}
	if l.Auth != "" {
		// Some programs leave out the padding. The kubelet accepts this too.
		encoding := base64.StdEncoding
		if !strings.HasSuffix(strings.TrimSpace(l.Auth), "=") {
			encoding = base64.RawStdEncoding
		}
		decoded, err := encoding.DecodeString(l.Auth)
		// Some programs pad the encoded text with zero bytes.
		name, password, found := strings.Cut(strings.TrimRight(string(decoded), "\x00"), ":")
		if err != nil || !found {
			return Credential{}, errors.New("auth is not base64 of name:password")
		}
		credential.Username, credential.Password = name, password
	}
	if credential == (Credential{}) {
		return Credential{}, errors.New("none of username and password, auth or token is set")
	}
	return credential, nil
}
