//go:build bench

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"kruise.io/kruise/test/benchmark/figures"
	"kruise.io/kruise/test/hostcontroller"
)

// growthShape sets the counts at which growth is measured, and how long it may take.
type growthShape struct {
	objects, pods, watchers counts
	// managed is the largest number of objects that the controller reconciles. It writes a revision and a status for each.
	managed int
	// bound is the time for one part. idle is how long the controller is measured without work.
	bound, idle time.Duration
	// dir is where the figures are written, and profiles where the profiles are. No profile is taken if it is empty.
	dir, profiles string
}

// counts is a flag such as 1000,3000,10000.
type counts []int

func (c *counts) String() string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint([]int(*c)), " ", ","), "[]")
}

// Set parses increasing numbers above zero.
func (c *counts) Set(text string) error {
	*c = nil
	last := 0
	for field := range strings.SplitSeq(text, ",") {
		number, err := strconv.Atoi(field)
		if err != nil || number <= last {
			return fmt.Errorf("%q: use whole numbers, each larger than the one before", text)
		}
		*c, last = append(*c, number), number
	}
	return nil
}

func growthFlags() *growthShape {
	s := &growthShape{
		objects: counts{1000, 3000, 10000, 30000, 100000}, pods: counts{1000, 3000, 10000, 30000, 50000}, watchers: counts{20, 500},
	}
	flag.Var(&s.objects, "growth-objects", "numbers of CloneSets without Pods at which objectgrowth measures")
	flag.Var(&s.pods, "growth-pods", "numbers of Pods at which podgrowth measures")
	flag.Var(&s.watchers, "growth-watchers", "numbers of open watches with which objectgrowth measures")
	flag.IntVar(&s.managed, "growth-managed", 10000, "the largest number of objects that the controller reconciles in objectgrowth")
	flag.DurationVar(&s.bound, "growth-for", 17*time.Minute, "time for each part about growth; steps that would exceed it are left out")
	flag.DurationVar(&s.idle, "growth-idle", 30*time.Second, "how long the controller is measured without work at each number")
	flag.StringVar(&s.dir, "growth-figures", filepath.Join("docs", "scale"), "where objectgrowth and podgrowth write their figures")
	flag.StringVar(&s.profiles, "growth-profiles", "", "where they write profiles; empty takes none")
	return s
}

// growth measures the same values at growing counts.
type growth struct {
	*bench
	shape    growthShape
	figures  *figures.Figures
	deadline time.Time
	// The servers whose memory is measured. processes are those whose CPU time is measured.
	kruise, kube, manager server
	processes             serverProcesses
	controller            *hostcontroller.Process
}

func (b *bench) newGrowth(shape growthShape, of string) *growth {
	command := fmt.Sprintf("make bench FLAGS=\"%s\"", strings.Join(os.Args[1:], " "))
	machine := fmt.Sprintf("%d CPUs for the cluster and the benchmark", runtime.NumCPU())
	return &growth{
		bench: b, shape: shape, deadline: time.Now().Add(shape.bound),
		figures: &figures.Figures{Of: of, Command: command, Machine: machine},
	}
}

// The charts.
var (
	latencyChart     = figures.Chart{Name: "latency", Unit: "ms"}
	timeChart        = figures.Chart{Name: "time", Unit: "ms for each Pod"}
	kruiseChart      = figures.Chart{Name: "cpu kruise-apiserver", Unit: "ms of CPU for each call"}
	kubeChart        = figures.Chart{Name: "cpu kube-apiserver", Unit: "ms of CPU for each call"}
	memoryChart      = figures.Chart{Name: "memory", Unit: "MiB", Total: true}
	storeChart       = figures.Chart{Name: "store", Unit: "MiB", Total: true}
	watchChart       = figures.Chart{Name: "watch", Unit: "µs of CPU for each event and watch"}
	watchSizeChart   = figures.Chart{Name: "watch memory", Unit: "KiB for each watch"}
	startChart       = figures.Chart{Name: "start", Unit: "s", Total: true}
	controllerChart  = figures.Chart{Name: "controller memory", Unit: "MiB", Total: true}
	reactionChart    = figures.Chart{Name: "reaction", Unit: "ms"}
	eachChart        = figures.Chart{Name: "controller cpu", Unit: "ms of CPU for each"}
	callsChart       = figures.Chart{Name: "controller calls", Unit: "calls for each"}
	bytesChart       = figures.Chart{Name: "controller bytes", Unit: "KiB for each"}
	idleChart        = figures.Chart{Name: "idle", Unit: "s of CPU in a minute"}
	stillChart       = figures.Chart{Name: "still", Unit: "s", Total: true}
	serverCallsChart = figures.Chart{Name: "server calls", Unit: "calls for each"}
	idleCallsChart   = figures.Chart{Name: "idle calls", Unit: "calls in a minute"}
)

const mebibyte = 1 << 20

// climb raises the count step by step and measures at each. It leaves out a step that would exceed the time.
func (g *growth) climb(
	ctx context.Context, steps counts, fill func(ctx context.Context, from, to int) error, measure func(ctx context.Context, count int) error,
) error {
	from, forOne, forAll := 0, time.Duration(0), time.Duration(0)
	for _, to := range steps {
		need := forOne*time.Duration(to-from) + forAll
		if left := time.Until(g.deadline); need > left {
			fmt.Printf("%d %s are left out: they need about %s, and %s are left of %s\n", to, g.figures.Of,
				need.Round(time.Second), left.Round(time.Second), g.shape.bound)
			break
		}
		began := time.Now()
		if err := fill(ctx, from, to); err != nil {
			return fmt.Errorf("%d %s: create: %w", to, g.figures.Of, err)
		}
		filled := time.Now()
		fmt.Fprintf(os.Stderr, "%d %s created in %.0f s\n", to, g.figures.Of, filled.Sub(began).Seconds())
		if err := measure(ctx, to); err != nil {
			return fmt.Errorf("%d %s: %w", to, g.figures.Of, err)
		}
		forOne, forAll = filled.Sub(began)/time.Duration(to-from), time.Since(filled)
		fmt.Fprintf(os.Stderr, "%d %s measured in %.0f s\n", to, g.figures.Of, forAll.Seconds())
		if err := g.figures.Write(g.shape.dir); err != nil {
			return err
		}
		from = to
	}
	return g.figures.Print(os.Stdout)
}

// memory reads the memory of the servers after a garbage collection.
func (g *growth) memory(ctx context.Context, count int) error {
	for _, s := range []server{g.kruise, g.kube, g.manager} {
		u, err := s.use(ctx)
		if err != nil {
			return err
		}
		g.figures.Add(memoryChart, s.name+" live heap", count, u.heap/mebibyte)
		if s.name == g.kruise.name {
			g.figures.Add(memoryChart, s.name+" held", count, u.held/mebibyte)
		}
		if err := g.profile(ctx, s, "heap", count, ""); err != nil {
			return err
		}
	}
	return nil
}

// profile writes a profile of a server to a file, if profiles are wanted.
func (g *growth) profile(ctx context.Context, s server, kind string, count int, query string) error {
	if g.shape.profiles == "" {
		return nil
	}
	request := s.client.Get().AbsPath("/debug/pprof/" + kind)
	if name, value, found := strings.Cut(query, "="); found {
		request = request.Param(name, value)
	}
	data, err := request.DoRaw(ctx)
	if err != nil {
		return fmt.Errorf("profile %s: %w", s.name, err)
	}
	return g.save(s.name, kind, count, data)
}

func (g *growth) save(program, kind string, count int, data []byte) error {
	if err := os.MkdirAll(g.shape.profiles, 0o750); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(g.shape.profiles, fmt.Sprintf("%s-%s-%d.pb.gz", program, kind, count)), data, 0o600)
}

// percentiles adds the median and the 99th percentile of sorted values to a chart each.
func (g *growth) percentiles(chart figures.Chart, name string, count int, sorted []float64) {
	for _, p := range []int{50, 99} {
		of := chart
		of.Name += fmt.Sprintf(" p%d", p)
		g.figures.Add(of, name, count, at(sorted, p))
	}
}
