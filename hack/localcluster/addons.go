package localcluster

import "context"

func (c *Cluster) addons() []component {
	var list []component
	return list
}

func (c *Cluster) renderAddons() error { return nil }

func (c *Cluster) applyAddons(ctx context.Context) error { return nil }
