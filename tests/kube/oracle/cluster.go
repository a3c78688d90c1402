package main

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

// cluster is a case as kube-scheduler holds it when it takes up the pod: its framework for the pod's profile, and
// the snapshot of its cache.
type cluster struct {
	framework.Framework
	profile   schedulerapi.KubeSchedulerProfile
	snapshot  *cache.Snapshot
	informers informers.SharedInformerFactory
}

// newCluster builds the scheduler as its command does and fills it with the case: assigned pods and nodes go to
// its cache, everything else comes to it through informers. Its goroutines end with ctx.
func newCluster(ctx context.Context, c *testCase) (*cluster, error) {
	config, err := c.configuration()
	if err != nil {
		return nil, err
	}
	client := fake.NewSimpleClientset(c.objects()...)
	factory := scheduler.NewInformerFactory(client, 0, nil)
	snapshot := cache.NewEmptySnapshot()
	sched, err := scheduler.New(ctx, client, factory, nil,
		profile.RecorderFactory(func(string) events.EventRecorderLogger { return &events.FakeRecorder{} }),
		scheduler.WithComponentConfigVersion(config.APIVersion),
		scheduler.WithProfiles(config.Profiles...),
		scheduler.WithParallelism(1),
		scheduler.WithNodeInfoSnapshot(snapshot),
	)
	if err != nil {
		return nil, err
	}
	cl := &cluster{snapshot: snapshot, informers: factory, Framework: sched.Profiles[c.Pod.Spec.SchedulerName]}
	if cl.Framework == nil {
		return nil, fmt.Errorf("no profile of the configuration is for schedulerName %q", c.Pod.Spec.SchedulerName)
	}
	for _, p := range config.Profiles {
		if p.SchedulerName == c.Pod.Spec.SchedulerName {
			cl.profile = p
		}
	}
	return cl, cl.fill(ctx, sched, c)
}

func (cl *cluster) fill(ctx context.Context, sched *scheduler.Scheduler, c *testCase) error {
	logger := klog.FromContext(ctx)
	cl.informers.StartWithContext(ctx)
	cl.informers.WaitForCacheSyncWithContext(ctx)
	if len(c.Nominated) > 0 || len(c.ResourceClaims) > 0 || len(c.ResourceSlices) > 0 || len(c.DeviceClasses) > 0 {
		if err := sched.WaitForHandlersSync(ctx); err != nil {
			return err
		}
	}
	for _, node := range c.Nodes {
		sched.Cache.AddNode(logger, node)
	}
	for _, pod := range c.Pods {
		if !occupies(pod) {
			continue
		}
		if err := sched.Cache.AddPod(logger, pod); err != nil {
			return err
		}
	}
	return sched.Cache.UpdateSnapshot(logger, cl.snapshot)
}

// occupies tells whether the scheduler would hold the pod in its cache at all.
func occupies(pod *v1.Pod) bool {
	return pod.Spec.NodeName != "" && pod.Status.Phase != v1.PodSucceeded && pod.Status.Phase != v1.PodFailed
}
