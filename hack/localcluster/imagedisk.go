package localcluster

import (
	"context"
	"fmt"
)

// imageContent is where containerd stores pulled content before it unpacks the images.
const imageContent = "/var/lib/containerd/io.containerd.content.v1.content"

// ShrinkImageDisk limits the space for new image pulls on a running node, in bytes, until FreeImageDisk. Existing
// containers continue to run.
func (c *Cluster) ShrinkImageDisk(ctx context.Context, node int, bytes int64) error {
	script := fmt.Sprintf("mount -t tmpfs -o size=%[2]d tmpfs %[1]s && mkdir -p %[1]s/blobs/sha256 %[1]s/ingest", imageContent, bytes)
	return c.onNode(ctx, node, script)
}

// FreeImageDisk removes the limit of ShrinkImageDisk. It keeps content that was pulled completely in the meantime,
// because containerd has recorded it. It drops partial content.
func (c *Cluster) FreeImageDisk(ctx context.Context, node int) error {
	script := fmt.Sprintf(`kept=$(mktemp -d /var/lib/containerd/kept.XXXXXX)
cp -a %[1]s/blobs "$kept"
umount --lazy %[1]s
cp -a "$kept"/blobs %[1]s
rm -rf "$kept"`, imageContent)
	return c.onNode(ctx, node, script)
}

// onNode runs a shell script in the mount namespace of a node, as root.
func (c *Cluster) onNode(ctx context.Context, node int, script string) error {
	init, err := c.initOf(node)
	if err != nil {
		return err
	}
	_, err = run(ctx, init, inNode, "sh", "-ec", script)
	return err
}

// UseRegistry makes every node pull the images of a registry directly from that registry, over plain HTTP. By default
// all images come from the registry of the cluster.
func (c *Cluster) UseRegistry(host string) error {
	for i := 1; i <= c.cfg.Nodes; i++ {
		// containerd 1.6 requires a host section. Without the server line it tries TLS if the host does not have the tag.
		text := fmt.Sprintf("server = \"http://%[1]s\"\n[host.\"http://%[1]s\"]\n  capabilities = [\"pull\", \"resolve\"]\n", host)
		if err := writeFile(c.nodeDir(i, "certs.d", host, "hosts.toml"), []byte(text), 0o644); err != nil {
			return fmt.Errorf("name registry %s to %s: %w", host, nodeName(i), err)
		}
	}
	return nil
}
