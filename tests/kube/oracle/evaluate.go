package main

import (
	"context"
	"fmt"
	"sort"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// evaluate runs one scheduling attempt over all nodes: PreFilter, Filter, then either the scores of the feasible
// nodes or, where there is none, the message and the dry run of preemption.
func evaluate(ctx context.Context, c *testCase) (outcome, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	closeGates, err := openGates(c.Gates)
	if err != nil {
		return outcome{}, err
	}
	defer closeGates()
	cl, err := newCluster(ctx, c)
	if err != nil {
		return outcome{}, err
	}
	defer cl.informers.Shutdown()
	defer cancel()

	o := outcome{ID: c.ID, Feasible: []string{}}
	if cl.snapshot.NumNodesInPlacement() == 0 {
		o.Message = scheduler.ErrNoNodesAvailable.Error()
		o.Preemption = noPreemption()
		return o, nil
	}
	state := framework.NewCycleState()
	feasible, diagnosis, err := cl.filter(ctx, state, c.Pod, &o)
	if err != nil {
		return o, err
	}
	if len(feasible) > 0 {
		err := cl.score(ctx, state, c.Pod, feasible, &o)
		o.Allocations = cl.allocations(ctx, state, c, feasible)
		return o, err
	}
	fit := framework.FitError{Pod: c.Pod, NumAllNodes: cl.snapshot.NumNodesInPlacement(), Diagnosis: *diagnosis}
	o.Message = fit.Error()
	o.Preemption, err = cl.preempt(ctx, state, c.Pod, diagnosis.NodeToStatus)
	return o, err
}

func (cl *cluster) filter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, o *outcome) ([]fwk.NodeInfo, *framework.Diagnosis, error) {
	diagnosis := &framework.Diagnosis{NodeToStatus: framework.NewDefaultNodeToStatus()}
	o.Rejected = map[string]verdict{}
	narrowed, status, plugins := cl.RunPreFilterPlugins(ctx, state, pod)
	if !status.IsSuccess() {
		if !status.IsRejected() {
			return nil, nil, status.AsError()
		}
		v := verdictOf(status)
		o.PreFilter = &v
		diagnosis.NodeToStatus.SetAbsentNodesStatus(status)
		diagnosis.PreFilterMsg = status.Message()
		return nil, diagnosis, nil
	}
	outside := outsideStatus(plugins)
	if !narrowed.AllNodes() {
		diagnosis.NodeToStatus.SetAbsentNodesStatus(outside)
	}
	nodes, err := cl.snapshot.List()
	if err != nil {
		return nil, nil, err
	}
	var feasible []fwk.NodeInfo
	for _, node := range nodes {
		name := node.Node().Name
		if !narrowed.AllNodes() && !narrowed.NodeNames.Has(name) {
			o.Rejected[name] = verdictOf(outside)
			continue
		}
		status := cl.RunFilterPluginsWithNominatedPods(ctx, state, pod, node)
		switch {
		case status.Code() == fwk.Error:
			return nil, nil, status.AsError()
		case status.IsSuccess():
			feasible = append(feasible, node)
			o.Feasible = append(o.Feasible, name)
		default:
			o.Rejected[name] = verdictOf(status)
			diagnosis.NodeToStatus.Set(name, status)
		}
	}
	sort.Strings(o.Feasible)
	return feasible, diagnosis, nil
}

// outsideStatus is what schedulePod records for nodes outside the set PreFilter plugins narrowed the search to.
func outsideStatus(plugins sets.Set[string]) *fwk.Status {
	reason := fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", sets.List(plugins))
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reason).WithPlugin("PreFilterResult")
}

func (cl *cluster) score(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo, o *outcome) error {
	if status := cl.RunPreScorePlugins(ctx, state, pod, nodes); !status.IsSuccess() {
		return status.AsError()
	}
	scored, status := cl.RunScorePlugins(ctx, state, pod, nodes)
	if !status.IsSuccess() {
		return status.AsError()
	}
	o.Scores = map[string]map[string]int64{}
	o.Totals = map[string]int64{}
	highest := scored[0].TotalScore
	for _, node := range scored {
		o.Scores[node.Name] = map[string]int64{}
		for _, plugin := range node.Scores {
			o.Scores[node.Name][plugin.Name] = plugin.Score
		}
		o.Totals[node.Name] = node.TotalScore
		highest = max(highest, node.TotalScore)
	}
	for name, total := range o.Totals {
		if total == highest {
			o.Best = append(o.Best, name)
		}
	}
	sort.Strings(o.Best)
	return nil
}
