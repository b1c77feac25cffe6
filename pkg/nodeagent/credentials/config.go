package credentials

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
	kubeletconfigv1 "k8s.io/kubelet/config/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"
)

const configKind = "CredentialProviderConfig"

var (
	// configVersions lists the accepted versions of the file. They differ only in fields that this package does not read.
	configVersions = []string{
		"kubelet.config.k8s.io/v1", "kubelet.config.k8s.io/v1beta1", "kubelet.config.k8s.io/v1alpha1",
	}
	// protocolVersions lists the accepted versions of the plugin protocol.
	protocolVersions = []string{
		"credentialprovider.kubelet.k8s.io/v1", "credentialprovider.kubelet.k8s.io/v1beta1", "credentialprovider.kubelet.k8s.io/v1alpha1",
	}
)

// LoadPlugins reads a CredentialProviderConfig file of the kubelet and finds the programs in binDir. Without the file
// it returns no plugins and no error. An invalid plugin is skipped: LoadPlugins returns the valid plugins together
// with an error that names the invalid ones.
func LoadPlugins(file, binDir string, clock clock.PassiveClock) (*Plugins, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return &Plugins{}, nil
	}
	if err != nil {
		return &Plugins{}, fmt.Errorf("read credential provider plugins: %w", err)
	}
	var config kubeletconfigv1.CredentialProviderConfig
	if err := yaml.UnmarshalStrict(data, &config); err != nil {
		return &Plugins{}, fmt.Errorf("read credential provider plugins from %s: %w", file, err)
	}
	if config.Kind != configKind || !slices.Contains(configVersions, config.APIVersion) {
		return &Plugins{}, fmt.Errorf("read credential provider plugins from %s: found kind %q of %q; use kind %s of %s",
			file, config.Kind, config.APIVersion, configKind, configVersions[0])
	}
	// From here on, an error concerns one plugin only.
	plugins := &Plugins{}
	names := sets.New[string]()
	var errs []error
	for i := range config.Providers {
		provider := &config.Providers[i]
		p, err := newPlugin(provider, binDir, clock)
		// The name is that of the program, so a second entry would be the same plugin.
		if names.Has(provider.Name) {
			err = errors.New("the name is used twice; rename one plugin")
		}
		names.Insert(provider.Name)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: providers[%d] %q: %w", file, i, provider.Name, err))
			continue
		}
		plugins.list = append(plugins.list, p)
	}
	return plugins, errors.Join(errs...)
}

// newPlugin validates one entry of the file. It returns all errors in the entry at once. The plugin is valid only if
// the error is nil.
func newPlugin(config *kubeletconfigv1.CredentialProvider, binDir string, clock clock.PassiveClock) (*plugin, error) {
	p := &plugin{
		name: config.Name, path: filepath.Join(binDir, config.Name), args: config.Args, apiVersion: config.APIVersion,
		clock: clock, turn: make(chan struct{}, 1), known: map[string]answer{},
	}
	var errs []error
	switch {
	// The kubelet has the same rule: a name with a path could name a program outside of binDir.
	case config.Name == "" || config.Name == "." || config.Name == ".." || filepath.Base(config.Name) != config.Name:
		errs = append(errs, fmt.Errorf("name: must be the name of a program in %s, without a path", binDir))
	default:
		if info, err := os.Stat(p.path); err != nil {
			errs = append(errs, fmt.Errorf("name: %w", err))
		} else if !info.Mode().IsRegular() {
			errs = append(errs, fmt.Errorf("name: %s is not an executable file", p.path))
		}
	}
	if len(config.MatchImages) == 0 {
		errs = append(errs, errors.New("matchImages: set at least one registry"))
	}
	for _, text := range config.MatchImages {
		match, err := parsePattern(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("matchImages: %w", err))
		}
		p.matches = append(p.matches, match)
	}
	if config.DefaultCacheDuration == nil || config.DefaultCacheDuration.Duration < 0 {
		errs = append(errs, errors.New("defaultCacheDuration: must be set, such as 10m; it applies to responses without cacheDuration"))
	} else {
		p.keep = config.DefaultCacheDuration.Duration
	}
	if !slices.Contains(protocolVersions, config.APIVersion) {
		errs = append(errs, fmt.Errorf("apiVersion: %q is not supported; use %s", config.APIVersion, protocolVersions[0]))
	}
	if config.TokenAttributes != nil {
		errs = append(errs, errors.New("tokenAttributes: not supported, because the node agent pulls images without a Pod; remove it"))
	}
	for _, variable := range config.Env {
		p.env = append(p.env, variable.Name+"="+variable.Value)
	}
	return p, errors.Join(errs...)
}
