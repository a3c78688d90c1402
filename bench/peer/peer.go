package main

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

// peer is kube-scheduler with nobody behind it: what it would hear from the API server is handed to its cache and
// its queue.
type peer struct {
	*scheduler.Scheduler
	snapshot *cache.Snapshot
}

func newPeer(ctx context.Context, scoreAll bool, objects []runtime.Object) (*peer, error) {
	namespace := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceDefault}}
	client := fake.NewSimpleClientset(append(objects, namespace)...)
	informers := scheduler.NewInformerFactory(client, 0, nil)
	snapshot := cache.NewEmptySnapshot()
	options := []scheduler.Option{scheduler.WithNodeInfoSnapshot(snapshot)}
	if scoreAll {
		all := int32(100)
		options = append(options, scheduler.WithPercentageOfNodesToScore(&all))
	}
	recorders := profile.RecorderFactory(func(string) events.EventRecorderLogger { return &events.FakeRecorder{} })
	sched, err := scheduler.New(ctx, client, informers, nil, recorders, options...)
	if err != nil {
		return nil, err
	}
	informers.StartWithContext(ctx)
	informers.WaitForCacheSyncWithContext(ctx)
	if len(objects) > 0 {
		if err := sched.WaitForHandlersSync(ctx); err != nil {
			return nil, err
		}
	}
	return &peer{Scheduler: sched, snapshot: snapshot}, nil
}

func (p *peer) fill(ctx context.Context, kind string, nodes, pods int) error {
	for i := range nodes {
		p.Cache.AddNode(klog.FromContext(ctx), newNode(i))
	}
	for i := range pods {
		pod, err := newPod(kind, i)
		if err != nil {
			return err
		}
		p.SchedulingQueue.Add(ctx, pod)
	}
	return nil
}

// place runs as many scheduling cycles as there are pods, and counts those placed on each node.
func (p *peer) place(ctx context.Context, pods int) (map[string]int, error) {
	perNode := map[string]int{}
	for range pods {
		host, err := p.cycle(ctx)
		var unfit *framework.FitError
		if errors.As(err, &unfit) {
			continue
		}
		if err != nil {
			return nil, err
		}
		perNode[host]++
	}
	return perNode, nil
}

func (p *peer) cycle(ctx context.Context) (string, error) {
	logger := klog.FromContext(ctx)
	entity, err := p.NextEntity(logger)
	if err != nil {
		return "", err
	}
	info, ok := entity.(*framework.QueuedPodInfo)
	if !ok {
		return "", fmt.Errorf("the queue gave a %T, not a pod", entity)
	}
	defer p.SchedulingQueue.Done(info.Pod.UID)
	if err := p.Cache.UpdateSnapshot(logger, p.snapshot); err != nil {
		return "", err
	}
	fw, state := p.Profiles[info.Pod.Spec.SchedulerName], framework.NewCycleState()
	result, err := p.SchedulePod(ctx, fw, state, info)
	if err != nil {
		return "", err
	}
	if len(info.Pod.Spec.ResourceClaims) > 0 {
		if status := fw.RunReservePluginsReserve(ctx, state, info.Pod, result.SuggestedHost); !status.IsSuccess() {
			return "", status.AsError()
		}
		if err := completeClaims(fw.SharedDRAManager(), info.Pod); err != nil {
			return "", err
		}
	}
	assumed := info.Pod.DeepCopy()
	assumed.Spec.NodeName = result.SuggestedHost
	return result.SuggestedHost, p.Cache.AssumePod(logger, assumed)
}
