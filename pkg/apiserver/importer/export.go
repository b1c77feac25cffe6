package importer

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Export returns a stored object in JSON, in the version. Without a version, it is the stored one. value is the
// object after decryption.
func (c *Converter) Export(resource schema.GroupResource, value []byte, version string) ([]byte, error) {
	for _, kind := range c.kinds {
		if kind.Resource() != resource {
			continue
		}
		target := kind.StoredVersion()
		if version != "" {
			target.Version = version
		}
		hub, err := runtime.Decode(kind.codec, value)
		if err != nil {
			return nil, fmt.Errorf("decode: %w", err)
		}
		versioned, err := c.scheme.ConvertToVersion(hub, target)
		if err != nil {
			return nil, fmt.Errorf("convert to %s: %w", target, err)
		}
		// Conversion does not set the kind in the object, but the JSON needs it.
		versioned.GetObjectKind().SetGroupVersionKind(target.WithKind(kind.hub.Kind))
		return json.Marshal(versioned)
	}
	return nil, fmt.Errorf("resource %s is not one of %s", resource, strings.Join(c.kindNames(), ", "))
}
