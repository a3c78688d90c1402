package main

import (
	"context"
	"sort"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	fwk "k8s.io/kube-scheduler/framework"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

// draws is how often two candidates are put to the choice before the loser is believed: kube-scheduler breaks a
// tie by the order of a map, so of two equal candidates either one is missed with a chance of 2^-64.
const draws = 64

// preempt is the DefaultPreemption plugin's dry run on every node where removing pods may help, without sampling.
func (cl *cluster) preempt(ctx context.Context, state fwk.CycleState, pod *v1.Pod, statuses *framework.NodeToStatus) (*preemptionOutcome, error) {
	o := noPreemption()
	plugin, err := cl.preemptionPlugin(ctx)
	if plugin == nil || err != nil {
		return o, err
	}
	ev := plugin.Evaluator
	o.Eligible, _ = plugin.PodEligibleToPreemptOthers(ctx, pod, statuses.Get(pod.Status.NominatedNodeName))
	if !o.Eligible {
		return o, nil
	}
	nodes, err := statuses.NodesForStatusCode(cl.snapshot, fwk.Unschedulable)
	if err != nil || len(nodes) == 0 {
		return o, err
	}
	pdbs, err := ev.PdbLister.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	// A node where the dry run fails is no candidate; the attempt goes on, as in kube-scheduler.
	found, _, _ := ev.DryRunPreemption(ctx, state, pod, nodes, pdbs, 0, int32(len(nodes)))
	for _, c := range found {
		o.Candidates[c.Name()] = candidate{Victims: names(c.Victims().Pods), PDBViolations: c.Victims().NumPDBViolations}
	}
	o.Chosen = chosen(ctx, ev, found)
	return o, nil
}

// preemptionPlugin is nil where the profile does not run it after filtering.
func (cl *cluster) preemptionPlugin(ctx context.Context) (*defaultpreemption.DefaultPreemption, error) {
	enabled := false
	for _, p := range cl.ListPlugins().PostFilter.Enabled {
		enabled = enabled || p.Name == defaultpreemption.Name
	}
	if !enabled {
		return nil, nil
	}
	args := &schedulerapi.DefaultPreemptionArgs{}
	for _, p := range cl.profile.PluginConfig {
		if p.Name == defaultpreemption.Name {
			args = p.Args.(*schedulerapi.DefaultPreemptionArgs)
		}
	}
	return defaultpreemption.New(ctx, args, cl.Framework, feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate))
}

// chosen are the candidates kube-scheduler picks from: the one it picks, and those it would as well have picked.
func chosen(ctx context.Context, ev *preemption.Evaluator, found []preemption.Candidate) []string {
	chosen := []string{}
	if len(found) == 0 {
		return chosen
	}
	first := ev.SelectCandidate(ctx, found)
	for _, c := range found {
		if c.Name() == first.Name() || ties(ctx, ev, first, c) {
			chosen = append(chosen, c.Name())
		}
	}
	sort.Strings(chosen)
	return chosen
}

func ties(ctx context.Context, ev *preemption.Evaluator, first, other preemption.Candidate) bool {
	for range draws {
		if ev.SelectCandidate(ctx, []preemption.Candidate{first, other}).Name() == other.Name() {
			return true
		}
	}
	return false
}

func names(pods []*v1.Pod) []string {
	var out []string
	for _, pod := range pods {
		out = append(out, pod.Namespace+"/"+pod.Name)
	}
	return out
}
