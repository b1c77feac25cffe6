package helm

import (
	"embed"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// Names of the embedded lists of cluster-wide rules.
const (
	ManagerRules   = "manager"
	DaemonRules    = "daemon"
	APIServerRules = "apiserver"
)

//go:embed kruise/files/rbac/*.yaml
var rbacFiles embed.FS

// Rules returns the access rules in kruise/files/rbac/<name>.yaml.
func Rules(name string) ([]rbacv1.PolicyRule, error) {
	path := "kruise/files/rbac/" + name + ".yaml"
	data, err := rbacFiles.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read access rules: %w", err)
	}
	var rules []rbacv1.PolicyRule
	if err := yaml.UnmarshalStrict(data, &rules); err != nil {
		return nil, fmt.Errorf("parse %s: %w", path, err)
	}
	return rules, nil
}
