// Bench-peer is what Moorage's throughput is compared with: kube-scheduler's own code, run in process without an
// API server. The scheduler is built as its command builds it, with the default profile, its real queue, cache,
// snapshot and node sampling; each pod is popped, placed and assumed, and nothing is bound. It prints one JSON line.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"syscall"
	"time"
)

// report is the line `moorage bench` prints as well.
type report struct {
	Kind        string  `json:"kind"`
	Nodes       int     `json:"nodes"`
	Pods        int     `json:"pods"`
	Scheduled   int     `json:"scheduled"`
	PodsPerS    float64 `json:"pods_per_s"`
	CPUMsPerPod float64 `json:"cpu_ms_per_pod"`
	MaxPerNode  int     `json:"max_per_node"`
	NodesUsed   int     `json:"nodes_used"`
	PeakRSSMB   float64 `json:"peak_rss_mb"`
}

func main() {
	kind := flag.String("kind", "basic", "workload: basic, varied, spread, antiaffinity, affinity, claims, claims-match or claims-shared")
	nodes := flag.Int("nodes", 1000, "nodes in the cluster")
	pods := flag.Int("pods", 3000, "pods to place")
	scoreAll := flag.Bool("score-all", false, "set percentageOfNodesToScore to 100 instead of sampling nodes")
	flag.Parse()
	r, err := measure(*kind, *nodes, *pods, *scoreAll)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(r)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-peer:", err)
		os.Exit(1)
	}
}

func measure(kind string, nodes, pods int, scoreAll bool) (*report, error) {
	if nodes < 1 || pods < 1 {
		return nil, fmt.Errorf("-nodes %d -pods %d: both must be at least 1", nodes, pods)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	p, err := newPeer(ctx, scoreAll, deviceObjects(kind, nodes, pods))
	if err != nil {
		return nil, err
	}
	if err := p.fill(ctx, kind, nodes, pods); err != nil {
		return nil, err
	}
	cpu, start := cpuTime(), time.Now()
	perNode, err := p.place(ctx, pods)
	if err != nil {
		return nil, err
	}
	elapsed, spent := time.Since(start), cpuTime()-cpu

	r := &report{Kind: kind, Nodes: nodes, Pods: pods, NodesUsed: len(perNode)}
	for _, n := range perNode {
		r.Scheduled += n
		r.MaxPerNode = max(r.MaxPerNode, n)
	}
	r.PodsPerS = round(float64(r.Scheduled) / elapsed.Seconds())
	r.CPUMsPerPod = round(spent.Seconds() * 1000 / float64(pods))
	r.PeakRSSMB = round(float64(usage().Maxrss) / 1024)
	return r, nil
}

func usage() syscall.Rusage {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return u
}

// cpuTime is what this process has used so far, in user and kernel mode, on all cores.
func cpuTime() time.Duration {
	u := usage()
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func round(x float64) float64 {
	return math.Round(x*100) / 100
}
