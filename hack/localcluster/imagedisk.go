package localcluster

import (
	"context"
	"fmt"
)

// imageContent is where containerd keeps what it pulls, before it is unpacked.
const imageContent = "/var/lib/containerd/io.containerd.content.v1.content"

// ShrinkImageDisk leaves a running node that many bytes for the images that it pulls from now on, until FreeImageDisk. What it
// has already runs on.
func (c *Cluster) ShrinkImageDisk(ctx context.Context, node int, bytes int64) error {
	script := fmt.Sprintf("mount -t tmpfs -o size=%[2]d tmpfs %[1]s && mkdir -p %[1]s/blobs/sha256 %[1]s/ingest", imageContent, bytes)
	return c.onNode(ctx, node, script)
}

// FreeImageDisk gives a node its disk back. What was pulled meanwhile is kept, because containerd remembers that it has it; what
// was pulled in part is not.
func (c *Cluster) FreeImageDisk(ctx context.Context, node int) error {
	script := fmt.Sprintf(`kept=$(mktemp -d /var/lib/containerd/kept.XXXXXX)
cp -a %[1]s/blobs "$kept"
umount --lazy %[1]s
cp -a "$kept"/blobs %[1]s
rm -rf "$kept"`, imageContent)
	return c.onNode(ctx, node, script)
}

// onNode runs a shell script among the mounts of a node.
func (c *Cluster) onNode(ctx context.Context, node int, script string) error {
	init, err := c.initOf(node)
	if err != nil {
		return err
	}
	_, err = run(ctx, init, inNode, "sh", "-ec", script)
	return err
}

// UseRegistry has every node pull what a registry offers from that registry itself, by plain HTTP. Without this, all images
// come from the cluster's own.
func (c *Cluster) UseRegistry(host string) error {
	for i := 1; i <= c.cfg.Nodes; i++ {
		// Without a host of its own containerd 1.6 does not take the file; without a server it tries TLS when the host has no such tag.
		text := fmt.Sprintf("server = \"http://%[1]s\"\n[host.\"http://%[1]s\"]\n  capabilities = [\"pull\", \"resolve\"]\n", host)
		if err := writeFile(c.nodeDir(i, "certs.d", host, "hosts.toml"), []byte(text), 0o644); err != nil {
			return fmt.Errorf("name registry %s to %s: %w", host, nodeName(i), err)
		}
	}
	return nil
}
