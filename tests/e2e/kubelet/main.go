// Program fake-kubelet is a kubelet without containers, for several nodes at once.
//
// It registers nodes and keeps their leases, admits pods by kubelet's own check (a pod that does not fit is rejected, so
// that a scheduler which overcommits is found out), reports those admitted as running, resizes them in place and ends
// those that are deleted. It answers the commands by which specs read the limits of a container, and makes volumes if it is
// told to. KWOK does the reporting and the ending; what it cannot do is refuse a pod that does not fit
// beside the others, carry out or defer a resize, and offer extended resources as kubelet does.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "how to reach the API server")
	nodes := flag.Int("nodes", 4, "how many nodes to be")
	zones := flag.Int("zones", 2, "over how many zones to spread them")
	version := flag.String("version", "", "the version of kubelet to report")
	provision := flag.Bool("provision", false, "have a default storage class, and make volumes of it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *kubeconfig, *version, *nodes, *zones, *provision); err != nil {
		fmt.Fprintln(os.Stderr, "fake-kubelet:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig, version string, count, zones int, provision bool) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 1000, 1000
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	machines := map[string]*machine{}
	carried := newPods(client, machines)
	if provision {
		if err := (&provisioner{client}).run(ctx, carried.factory); err != nil {
			return err
		}
	}
	for i := range count {
		m := newMachine(client, fmt.Sprintf("node-%d", i+1), fmt.Sprintf("zone-%d", i%zones+1), version, i)
		if m.port, err = (&commands{carried.lister}).serve(m.address()); err != nil {
			return err
		}
		if err := m.register(ctx); err != nil {
			return err
		}
		machines[m.name] = m
	}
	klog.InfoS("Registered", "nodes", count, "zones", zones)
	go heartbeats(ctx, machines)
	return carried.run(ctx)
}

func heartbeats(ctx context.Context, machines map[string]*machine) {
	for tick := time.NewTicker(heartbeat); ; {
		for _, m := range machines {
			if err := m.renew(ctx); err != nil {
				klog.ErrorS(err, "Lease not renewed", "node", m.name)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
