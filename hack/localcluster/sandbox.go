package localcluster

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// OwnedVariable is the environment variable of an init process that ends when its file descriptor 3 is closed.
const OwnedVariable = "KRUISE_LOCAL_OWNED"

// bridge connects the Pods and nodes inside the network namespace of the cluster.
const bridge = "pods0"

// state is kept after a stop. It contains the addresses, because certificates, Services and Pods contain them.
type state struct {
	Network Network `json:"network"`
	// Device is the host's end of the veth pair.
	Device device `json:"device"`
	// Init is the init process whose network is complete.
	Init record `json:"init"`
}

// device identifies a network device by its index. Unlike a name, the kernel does not reuse an index until the machine reboots.
type device struct {
	Index int    `json:"index"`
	Boot  string `json:"boot"`
}

// readState reads the state file. It returns fs.ErrNotExist if the cluster was never up.
func (c *Cluster) readState() (state, error) {
	data, err := os.ReadFile(c.path("state.json"))
	if err != nil {
		return state{}, err
	}
	var s state
	if err := json.Unmarshal(data, &s); err != nil {
		return state{}, fmt.Errorf("%s is damaged, remove %s: %w", c.path("state.json"), c.cfg.Dir, err)
	}
	return s, nil
}

// loadState reads the addresses of a cluster, for methods that need a running one.
func (c *Cluster) loadState() error {
	s, err := c.readState()
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cluster %s is not up: there is no %s", c.cfg.Name, c.path("state.json"))
	}
	c.net = s.Network
	return err
}

// ensureSandbox keeps complete namespaces. Otherwise it ends the remaining processes and creates new namespaces. The
// state is written twice: with the device as soon as it exists, so that a later call can remove it, and with the init
// process at the end, which says that the network is complete.
func (c *Cluster) ensureSandbox(ctx context.Context) error {
	s, err := c.readState()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// Without state, any free network will do.
	fresh := err != nil
	c.net = s.Network
	// The init process is recorded only when the network is complete.
	if s.Init.alive() {
		return nil
	}
	if err := c.stopAll(ctx); err != nil {
		return err
	}
	init, err := c.startInitProcess(ctx, "init", 0)
	if err != nil {
		return err
	}
	if err := c.claimNetwork(ctx, init.PID, fresh); err != nil {
		return errors.Join(err, c.kill(ctx, "init"))
	}
	s = state{Network: c.net}
	if s.Device, err = findDevice(c.net.Link()); err == nil {
		err = c.writeState(s)
	}
	if err != nil {
		return errors.Join(err, c.kill(ctx, "init"))
	}
	if err := c.configureNetwork(ctx, init.PID); err != nil {
		return errors.Join(err, c.kill(ctx, "init"))
	}
	c.progress("network %s on %s is ready", c.net.ClusterCIDR(), c.net.Link())
	s.Init = init
	return c.writeState(s)
}

// writeState replaces the state file atomically.
func (c *Cluster) writeState(s state) error {
	data, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode state: %w", err)
	}
	return writeFile(c.path("state.json"), data, 0o644)
}

// findDevice returns the identity of a network device of the host.
func findDevice(name string) (device, error) {
	found, err := net.InterfaceByName(name)
	if err != nil {
		return device{}, fmt.Errorf("find network device %s: %w", name, err)
	}
	boot, err := bootID()
	return device{Index: found.Index, Boot: boot}, err
}

// startInitProcess starts an init process with new namespaces. clusterInit is zero for the cluster, and the cluster's
// init process for a node.
func (c *Cluster) startInitProcess(ctx context.Context, name string, clusterInit int) (record, error) {
	cmd, logFile, err := c.command(ctx, process{name: name, path: c.initPath(), args: []string{"hold", c.cfg.Dir, name}})
	if err != nil {
		return record{}, err
	}
	defer logFile.Close() //nolint:errcheck // The process has its own descriptor.
	if c.cfg.Owned {
		closeOurs, err := c.own(cmd)
		if err != nil {
			return record{}, err
		}
		defer closeOurs()
	}
	if err := startInit(clusterInit, cmd); err != nil {
		return record{}, fmt.Errorf("create the namespaces of %s: %w", name, err)
	}
	go cmd.Wait() //nolint:errcheck // Reaps it while this program lives; its end is read from the pid file.
	if err := c.recordProcess(name, cmd.Process.Pid, cmd.Args, ""); err != nil {
		return record{}, err
	}
	return readRecord(c.pidFile(name))
}

// own passes the reading end of a pipe to an init process. Its other end closes when this process ends, and then the init process
// ends too.
func (c *Cluster) own(cmd *exec.Cmd) (closeOurs func(), err error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("create pipe: %w", err)
	}
	c.owned = append(c.owned, writer) // A file that nothing refers to would be closed.
	cmd.ExtraFiles = []*os.File{reader}
	cmd.Env = append(cmd.Env, OwnedVariable+"=true")
	return func() { _ = reader.Close() }, nil
}

// claimNetwork creates the veth pair. The name of the host's end is the claim of the index, because the kernel allows
// each name once. A cluster with state must get its old addresses.
func (c *Cluster) claimNetwork(ctx context.Context, init int, fresh bool) error {
	claim := func(ctx context.Context, n Network) error {
		_, err := run(ctx, 0, fromNowhere, "ip", "link", "add", n.Link(), "type", "veth", "peer", "name", "eth0", "netns", fmt.Sprint(init))
		return err
	}
	if !fresh {
		if err := claim(ctx, c.net); err != nil {
			return fmt.Errorf("addresses %s, which the state in %s was made for, are taken by another cluster: "+
				"stop that one or run down on this one: %w", c.net.ClusterCIDR(), c.cfg.Dir, err)
		}
		return nil
	}
	// Networks that the host uses itself would hide those of the cluster.
	used, err := net.InterfaceAddrs()
	if err != nil {
		return fmt.Errorf("read the host's addresses: %w", err)
	}
	routed, err := hostRoutes()
	if err != nil {
		return err
	}
	used = append(used, routed...)
	var last error
	for index := range maxIndex + 1 {
		n := Network{Index: index}
		if n.overlaps(used) {
			continue
		}
		if last = claim(ctx, n); last == nil {
			c.net = n
			return nil
		}
	}
	return fmt.Errorf("no free network for the cluster: %w", last)
}

// hostRoutes returns the networks to which the host has routes and which would hide a network of a cluster, because they are as small.
func hostRoutes() ([]net.Addr, error) {
	table, err := os.ReadFile("/proc/net/route")
	if err != nil {
		return nil, fmt.Errorf("read the host's routes: %w", err)
	}
	return parseRoutes(string(table)), nil
}

// parseRoutes reads the table of routes, see proc(5): addresses are hexadecimal numbers in the byte order of the machine. Larger
// networks than that of a cluster, such as that of the default route, do not matter: the smaller network counts.
func parseRoutes(table string) (routes []net.Addr) {
	const destinationField, maskField, clusterBits = 1, 7, 16
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) <= maskField {
			continue
		}
		destination, err := strconv.ParseUint(fields[destinationField], 16, 32)
		mask, maskErr := strconv.ParseUint(fields[maskField], 16, 32)
		if err != nil || maskErr != nil {
			continue // The header.
		}
		route := &net.IPNet{IP: make(net.IP, net.IPv4len), Mask: make(net.IPMask, net.IPv4len)}
		binary.NativeEndian.PutUint32(route.IP, uint32(destination))
		binary.NativeEndian.PutUint32(route.Mask, uint32(mask))
		if bits, _ := route.Mask.Size(); bits >= clusterBits {
			routes = append(routes, route)
		}
	}
	return routes
}

// overlaps returns true if an address of the host, or a network that it routes, is in a network of the cluster.
func (n Network) overlaps(addresses []net.Addr) bool {
	for _, address := range addresses {
		prefix, ok := address.(*net.IPNet)
		if !ok {
			continue
		}
		ip := prefix.IP.To4()
		if ip != nil && ip[0] == 10 && (int(ip[1]) == n.second() || int(ip[1]) == n.second()+1) {
			return true
		}
	}
	return false
}

// configureNetwork sets the addresses and routes on both ends of the veth pair. The bridge gets the addresses of all
// nodes that a configuration may have.
func (c *Cluster) configureNetwork(ctx context.Context, init int) error {
	n := c.net
	host := []string{
		"addr add " + n.HostIP() + "/30 dev " + n.Link(),
		"link set " + n.Link() + " up",
	}
	inside := []string{
		"link set lo up",
		"addr add " + n.gatewayIP() + "/30 dev eth0",
		"link set eth0 up",
		"link add " + bridge + " type bridge",
		"addr add " + n.ControlPlaneIP() + "/16 dev " + bridge,
		"link set " + bridge + " up",
		"route add default via " + n.HostIP(),
	}
	for i := 1; i <= maxNodes; i++ {
		inside = append(inside, "addr add "+n.NodeIP(i)+"/32 dev "+bridge)
	}
	routes := []string{
		"route add " + n.ClusterCIDR() + " via " + n.gatewayIP(),
		"route add " + n.ServiceCIDR() + " via " + n.gatewayIP(),
	}
	if err := ipBatch(ctx, 0, fromNowhere, host); err != nil {
		return err
	}
	if err := ipBatch(ctx, init, netOnly, inside); err != nil {
		return err
	}
	if err := ipBatch(ctx, 0, fromNowhere, routes); err != nil {
		return err
	}
	_, err := run(ctx, init, netOnly, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
	return err
}

// ipBatch runs commands of ip(8) in the network namespace of the process init, or on the host.
func ipBatch(ctx context.Context, init int, ns namespaces, lines []string) error {
	var out strings.Builder
	cmd := exec.CommandContext(ctx, "ip", "-batch", "-")
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	cmd.Stdout, cmd.Stderr = &out, &out
	err := startIn(init, ns, cmd)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		return fmt.Errorf("configure network: %w: %s", err, strings.TrimSpace(out.String()))
	}
	return nil
}

// initOf returns the process whose namespaces a component of the node joins. Node 0 is the control plane.
func (c *Cluster) initOf(node int) (int, error) {
	name := "init"
	if node > 0 {
		name = nodeName(node)
	}
	r, err := readRecord(c.pidFile(name))
	if err != nil {
		return 0, err
	}
	if !r.alive() {
		return 0, fmt.Errorf("cluster %s: %s does not run", c.cfg.Name, name)
	}
	return r.PID, nil
}
