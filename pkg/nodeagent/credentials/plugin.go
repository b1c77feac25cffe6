package credentials

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	providerv1 "k8s.io/kubelet/pkg/apis/credentialprovider/v1"
	"k8s.io/utils/clock"
)

const (
	// pluginTimeout is how long a plugin may run. The kubelet has the same limit.
	pluginTimeout = time.Minute
	// killDelay is how long to wait after a kill for child processes of the plugin to close its output.
	killDelay = 2 * time.Second
	// stderrLimit is how many bytes of a plugin's stderr an error contains.
	stderrLimit = 512
)

// Plugins holds the credential provider plugins of the node, in the order of the file. The zero value has none.
type Plugins struct {
	list []*plugin
}

// plugin is one credential provider plugin. Only one process of it runs at a time, so a waiting caller finds the cached answer.
type plugin struct {
	name, path string
	args, env  []string
	apiVersion string
	matches    []pattern
	// keep is how long an answer without a duration of its own is cached.
	keep  time.Duration
	clock clock.PassiveClock

	// turn is a lock with one slot. Its holder may access known.
	turn  chan struct{}
	known map[string]answer
}

// answer is a cached answer of a plugin and its expiry.
type answer struct {
	auth  map[string]providerv1.AuthConfig
	until time.Time
}

// AddTo adds the credentials that the matching plugins return for an image. It returns the names of the plugins that failed; the
// credentials of the others are added anyway. The error is for the log alone: it can hold output of a plugin. image is the full name, for
// example docker.io/library/nginx. AddTo can block for pluginTimeout for each plugin; ctx limits it.
func (p *Plugins) AddTo(ctx context.Context, keyring *Keyring, image string) (failed []string, _ error) {
	target, err := parsePattern(image)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, plugin := range p.list {
		if !slices.ContainsFunc(plugin.matches, func(match pattern) bool { return match.fits(target) }) {
			continue
		}
		auth, err := plugin.ask(ctx, image, target)
		for _, text := range slices.Sorted(maps.Keys(auth)) {
			err = errors.Join(err, keyring.Add(text, Credential{Username: auth[text].Username, Password: auth[text].Password}))
		}
		if err != nil {
			failed = append(failed, plugin.name)
			errs = append(errs, fmt.Errorf("credential provider plugin %s: %w", plugin.name, err))
		}
	}
	return failed, errors.Join(errs...)
}

// ask returns the cached answer of the plugin, or runs the plugin if nothing is cached. Errors are not cached.
func (p *plugin) ask(ctx context.Context, image string, target pattern) (map[string]providerv1.AuthConfig, error) {
	// Parallel pulls of images from one registry run the plugin once: the others wait here and then find the answer.
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	registry := pattern{host: target.host, port: target.port}.String()
	now := p.clock.Now()
	// Expired answers contain credentials, so they are removed and not only ignored.
	maps.DeleteFunc(p.known, func(_ string, a answer) bool { return !now.Before(a.until) })
	// The answer says for what it is valid. The most specific one comes first.
	for _, key := range []string{
		cacheKey(providerv1.ImagePluginCacheKeyType, image), cacheKey(providerv1.RegistryPluginCacheKeyType, registry),
		cacheKey(providerv1.GlobalPluginCacheKeyType, ""),
	} {
		if a, found := p.known[key]; found {
			return a.auth, nil
		}
	}
	response, err := p.run(ctx, image)
	if err != nil {
		return nil, err
	}
	// The answer may say itself how long it is valid.
	keep := p.keep
	if response.CacheDuration != nil {
		keep = response.CacheDuration.Duration
	}
	subject := map[providerv1.PluginCacheKeyType]string{
		providerv1.ImagePluginCacheKeyType: image, providerv1.RegistryPluginCacheKeyType: registry, providerv1.GlobalPluginCacheKeyType: "",
	}
	of, known := subject[response.CacheKeyType]
	if !known {
		return nil, fmt.Errorf("the response has cacheKeyType %q; supported are Image, Registry and Global", response.CacheKeyType)
	}
	// A duration of zero means that the answer must not be cached.
	if keep > 0 {
		p.known[cacheKey(response.CacheKeyType, of)] = answer{auth: response.Auth, until: p.clock.Now().Add(keep)}
	}
	return response.Auth, nil
}

// cacheKey returns the key of an answer that is valid for an image, a registry or every image.
func cacheKey(kind providerv1.PluginCacheKeyType, of string) string { return string(kind) + " " + of }

// run sends the image to the plugin on stdin and parses the answer. Errors never contain the answer, because it holds credentials.
func (p *plugin) run(ctx context.Context, image string) (*providerv1.CredentialProviderResponse, error) {
	request, err := json.Marshal(providerv1.CredentialProviderRequest{
		TypeMeta: metav1.TypeMeta{APIVersion: p.apiVersion, Kind: "CredentialProviderRequest"}, Image: image,
	})
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	// The cause replaces the text of a killed process in the error.
	ctx, cancel := context.WithTimeoutCause(ctx, pluginTimeout, fmt.Errorf("no response within %v", pluginTimeout))
	defer cancel()
	command := exec.CommandContext(ctx, p.path, p.args...)
	var stdout, stderr bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = bytes.NewReader(request), &stdout, &stderr
	// The plugin gets the environment of the agent, as a plugin of the kubelet gets that of the kubelet. WaitDelay
	// ends a run whose child processes keep the output open.
	command.Env, command.WaitDelay = append(os.Environ(), p.env...), killDelay
	if err := command.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		complaint := strings.TrimSpace(stderr.String())
		return nil, fmt.Errorf("run %s: %w: %s", p.path, err, complaint[:min(len(complaint), stderrLimit)])
	}
	var response providerv1.CredentialProviderResponse
	if json.Unmarshal(stdout.Bytes(), &response) != nil {
		return nil, errors.New("the response is not valid JSON of a CredentialProviderResponse")
	}
	if response.Kind != "CredentialProviderResponse" || response.APIVersion != p.apiVersion {
		return nil, fmt.Errorf("the response has kind %q of %q; expected CredentialProviderResponse of %s",
			response.Kind, response.APIVersion, p.apiVersion)
	}
	return &response, nil
}
