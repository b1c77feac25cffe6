//go:build bench

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"kruise.io/kruise/pkg/generated/clientset/versioned"
)

// manner is one way to measure the verbs.
type manner struct {
	name    string
	clients int
	// interleaved mixes the kinds call by call, so that other load affects all kinds equally. Otherwise one kind follows the other,
	// so that the CPU time of the servers is known for each kind.
	interleaved bool
	// ordinary sends the requests of a user who has a Role. The other user is in system:masters, for whom no server looks up roles.
	ordinary bool
}

func (b *bench) manners() []manner {
	several := fmt.Sprintf("%d clients, kinds interleaved", b.clients)
	return []manner{
		{name: "one client, one kind after the other, ordinary user", clients: 1, ordinary: true},
		{name: several + ", ordinary user", clients: b.clients, interleaved: true, ordinary: true},
		{name: several + ", cluster admin", clients: b.clients, interleaved: true},
	}
}

// step is one verb and how often it is called for each kind.
type step struct {
	name  string
	count int
	of    func(workload) verb
}

func (b *bench) steps() []step {
	return []step{
		{"create", b.objects, func(w workload) verb { return w.create }},
		{"get", b.objects, func(w workload) verb { return w.get }},
		{"patch", b.objects, func(w workload) verb { return w.patch }},
		{"list", b.lists, func(w workload) verb { return w.list }},
		{"delete", b.objects, func(w workload) verb { return w.remove }},
		{"discover", b.objects, func(w workload) verb { return w.discover }},
	}
}

// measured holds the figures of one verb in one round, by workload: sorted latencies in ms, and the CPU time of each server in ms for
// each call. The CPU time is known only if the kinds are not interleaved.
type measured struct {
	latencies [][]float64
	cpu       []cpuTime
}

// settling is how long the controllers may react to the calls of a verb before the CPU time of the servers is read.
const settling = 2 * time.Second

// verbs compares the latency and the CPU time of CloneSets with those of Deployments and of the custom resource with its webhooks.
func (b *bench) verbs(ctx context.Context, custom *custom) (err error) {
	namespace, remove, err := b.namespace(ctx)
	if err != nil {
		return err
	}
	defer remove()
	if err := custom.addWebhooks(ctx, namespace); err != nil {
		return err
	}
	if err := b.requestsAlone(ctx, namespace); err != nil {
		return fmt.Errorf("without controllers: %w", err)
	}
	servers, err := b.findServers(ctx)
	if err != nil {
		return err
	}
	lighten, err := giveOwnWeight(servers.kruise, servers.controller)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lighten()) }()
	for _, m := range b.manners() {
		if err := b.compare(ctx, m, servers, namespace); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	fmt.Printf("%d objects of each kind in each of %d rounds, %d lists; a ratio is the figure of CloneSet over the other's, for each round;\n"+
		"the programs of this project have the CPU weight of programs on nodes of their own; %d webhook calls\n",
		b.objects, b.rounds, b.lists, custom.calls.Load())
	return nil
}

// requestsAlone compares what requests cost while no controller reacts to them. No controller reconciles the custom resource, so only here
// its figures and those of the other kinds contain the same.
func (b *bench) requestsAlone(ctx context.Context, namespace string) (err error) {
	start, err := b.stopControllers(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, start()) }()
	servers, err := b.findAPIServers(ctx)
	if err != nil {
		return err
	}
	lighten, err := giveOwnWeight(servers.kruise)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lighten()) }()
	alone := manner{name: "no controllers, one client, one kind after the other, ordinary user", clients: 1, ordinary: true}
	return b.compare(ctx, alone, servers, namespace)
}

// compare measures every verb in one manner, and prints the figures.
func (b *bench) compare(ctx context.Context, m manner, servers serverProcesses, namespace string) error {
	all, err := b.workloads(ctx, m, namespace)
	if err != nil {
		return err
	}
	before, err := b.reviews(ctx)
	if err != nil {
		return err
	}
	idle, err := servers.idle(ctx)
	if err != nil {
		return err
	}
	rounds := map[string][]measured{}
	for range b.rounds {
		for _, s := range b.steps() {
			figures, err := b.measure(ctx, m, s, all, servers, idle, namespace)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			rounds[s.name] = append(rounds[s.name], figures)
		}
	}
	after, err := b.reviews(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("\n%s; %.3f subject access reviews for each request of a %s\n", m.name,
		(after-before)/float64(b.rounds*(5*b.objects+b.lists)), all[0].kind)
	err = b.printLatencies(all, rounds)
	if err != nil || m.interleaved {
		return err
	}
	return b.printCPU(all, rounds)
}

// workloads returns the kinds, each with a client of the manner's user.
func (b *bench) workloads(ctx context.Context, m manner, namespace string) ([]workload, error) {
	config := b.config
	if m.ordinary {
		var err error
		if config, err = b.ordinaryUser(ctx, namespace); err != nil {
			return nil, fmt.Errorf("create an ordinary user: %w", err)
		}
	}
	core, err := kubernetes.NewForConfig(inProtobuf(config))
	if err != nil {
		return nil, err
	}
	kruise, err := versioned.NewForConfig(inProtobuf(config))
	if err != nil {
		return nil, err
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	custom := customSets(objects)
	custom.discover = discovery(core.AppsV1().RESTClient(), customVersion)
	return []workload{cloneSets(kruise), deployments(core), custom}, nil
}

// measure calls a verb for every workload.
func (b *bench) measure(
	ctx context.Context, m manner, s step, all []workload, servers serverProcesses, idle cpuTime, namespace string,
) (figures measured, err error) {
	if m.interleaved {
		figures.latencies, err = b.run(ctx, m.clients, len(all), calls(all, namespace, s.count, s.of))
		return figures, err
	}
	for _, w := range all {
		begun := time.Now()
		before, err := servers.cpu()
		if err != nil {
			return figures, err
		}
		latencies, err := b.run(ctx, m.clients, 1, calls([]workload{w}, namespace, s.count, s.of))
		if err != nil {
			return figures, err
		}
		if err := pause(ctx, settling); err != nil {
			return figures, err
		}
		after, err := servers.cpu()
		if err != nil {
			return figures, err
		}
		figures.latencies = append(figures.latencies, latencies...)
		figures.cpu = append(figures.cpu, after.less(before, 1).less(idle, time.Since(begun).Seconds()).each(s.count))
	}
	return figures, nil
}

// printLatencies prints percentiles of all rounds together, and the ratios of each round.
func (b *bench) printLatencies(all []workload, rounds map[string][]measured) error {
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprint(out, "ms\t")
	for i, w := range all {
		_, _ = fmt.Fprintf(out, "%s p50\tp99\t", w.kind)
		if i > 0 {
			_, _ = fmt.Fprint(out, "ratio p50\tp99\t")
		}
	}
	_, _ = fmt.Fprintln(out)
	for _, s := range b.steps() {
		_, _ = fmt.Fprintf(out, "%s\t", s.name)
		for i := range all {
			together := sorted(rounds[s.name], i)
			_, _ = fmt.Fprintf(out, "%.1f\t%.1f\t", at(together, 50), at(together, 99))
			if i == 0 {
				continue
			}
			for _, p := range []int{50, 99} {
				ratio := func(m measured) float64 { return at(m.latencies[0], p) / at(m.latencies[i], p) }
				_, _ = fmt.Fprintf(out, "%s\t", ratios(rounds[s.name], ratio))
			}
		}
		_, _ = fmt.Fprintln(out)
	}
	return out.Flush()
}

// printCPU prints the CPU time of the servers for each call, as the mean of all rounds, and the ratios of each round.
func (b *bench) printCPU(all []workload, rounds map[string][]measured) error {
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprint(out, "CPU ms for each call\t")
	for i, w := range all {
		_, _ = fmt.Fprintf(out, "%s: kube-apiserver\tetcd\tkruise-apiserver\t", w.kind)
		if i > 0 {
			_, _ = fmt.Fprint(out, "ratio of the sum\t")
		}
	}
	_, _ = fmt.Fprintln(out)
	for _, s := range b.steps() {
		_, _ = fmt.Fprintf(out, "%s\t", s.name)
		for i := range all {
			var sum cpuTime
			for _, m := range rounds[s.name] {
				sum = sum.less(m.cpu[i], -1)
			}
			mean := sum.each(len(rounds[s.name]))
			_, _ = fmt.Fprintf(out, "%.2f\t%.2f\t%.2f\t", mean.kube, mean.etcd, mean.kruise)
			if i > 0 {
				_, _ = fmt.Fprintf(out, "%s\t", ratios(rounds[s.name], func(m measured) float64 { return m.cpu[0].sum() / m.cpu[i].sum() }))
			}
		}
		_, _ = fmt.Fprintln(out)
	}
	_, _ = fmt.Fprint(out, "create to delete, without list\t")
	for i := range all {
		_, _ = fmt.Fprint(out, "\t\t\t")
		if i == 0 {
			continue
		}
		var text []string
		for round := range b.rounds {
			var first, other float64
			for _, s := range b.steps() {
				if s.name != "list" && s.name != "discover" {
					first, other = first+rounds[s.name][round].cpu[0].sum(), other+rounds[s.name][round].cpu[i].sum()
				}
			}
			text = append(text, fmt.Sprintf("%.2f", first/other))
		}
		_, _ = fmt.Fprintf(out, "%s\t", strings.Join(text, " "))
	}
	_, _ = fmt.Fprintln(out)
	return out.Flush()
}

// ratios prints a ratio for each round.
func ratios(rounds []measured, of func(measured) float64) string {
	text := make([]string, 0, len(rounds))
	for _, m := range rounds {
		text = append(text, fmt.Sprintf("%.2f", of(m)))
	}
	return strings.Join(text, " ")
}
