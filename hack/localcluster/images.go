package localcluster

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"kruise.io/kruise/hack/images"
)

// LoadImages imports the images of the archives into every real node that does not have them.
func (c *Cluster) LoadImages(ctx context.Context, archives ...string) error {
	group, ctx := errgroup.WithContext(ctx)
	for i := 1; i <= c.cfg.Nodes; i++ {
		group.Go(func() error { return c.loadInto(ctx, i, archives) })
	}
	return group.Wait()
}

// loadInto imports the archives whose digest the node does not have. An image with the same name and another digest
// is replaced.
func (c *Cluster) loadInto(ctx context.Context, node int, archives []string) error {
	present, err := c.imageDigests(ctx, node)
	if err != nil {
		return err
	}
	for _, archive := range archives {
		image, err := images.Inspect(archive)
		if err != nil {
			return err
		}
		if present[image.Ref] == image.Digest {
			continue
		}
		if _, err := c.ctr(ctx, node, "images", "import", archive); err != nil {
			return fmt.Errorf("import %s into %s: %w", image.Ref, nodeName(node), err)
		}
		c.progress("%s has image %s", nodeName(node), image.Ref)
	}
	return nil
}

// pushImages uploads the images of the nodes to the registry of the cluster, for Pods with the pull policy Always.
func (c *Cluster) pushImages(ctx context.Context) error {
	if !c.cfg.Registry {
		return nil
	}
	for _, archive := range c.cfg.Images {
		if err := images.PushArchive(ctx, archive, c.net.RegistryHost()); err != nil {
			return err
		}
	}
	return nil
}

// imageDigests returns the image references and digests in a node's containerd. They are the first and third column of the list.
func (c *Cluster) imageDigests(ctx context.Context, node int) (map[string]string, error) {
	out, err := c.ctr(ctx, node, "images", "list")
	if err != nil {
		return nil, err
	}
	digests := map[string]string{}
	const digestColumn = 2
	for line := range strings.Lines(out) {
		if fields := strings.Fields(line); len(fields) > digestColumn {
			digests[fields[0]] = fields[digestColumn]
		}
	}
	return digests, nil
}

// ctr runs the containerd client on a node, in the containerd namespace of Kubernetes.
func (c *Cluster) ctr(ctx context.Context, node int, args ...string) (string, error) {
	init, err := c.initOf(node)
	if err != nil {
		return "", err
	}
	return run(ctx, init, inNode, c.runtimeProgram("ctr"), append([]string{"--namespace", "k8s.io"}, args...)...)
}
