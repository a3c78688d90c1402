package main

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// ending is how long a container takes to go when it is asked to.
const ending = 300 * time.Millisecond

// pods carries out what the API server says of pods, one at a time.
type pods struct {
	client   kubernetes.Interface
	machines map[string]*machine
	factory  informers.SharedInformerFactory
	lister   corelisters.PodLister
	nodes    corelisters.NodeLister
	queue    workqueue.TypedRateLimitingInterface[string]
	admitted map[string]*v1.Pod // by key: what this kubelet has allocated
}

func newPods(client kubernetes.Interface, machines map[string]*machine) *pods {
	factory := informers.NewSharedInformerFactory(client, 0)
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](10*time.Millisecond, time.Second)
	return &pods{
		client: client, machines: machines, factory: factory,
		lister: factory.Core().V1().Pods().Lister(), nodes: factory.Core().V1().Nodes().Lister(),
		queue:    workqueue.NewTypedRateLimitingQueue(limiter),
		admitted: map[string]*v1.Pod{},
	}
}

func (p *pods) run(ctx context.Context) error {
	add := func(obj any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
			p.queue.Add(key)
		}
	}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc: add, UpdateFunc: func(_, obj any) { add(obj) }, DeleteFunc: add,
	}
	for _, informer := range []cache.SharedIndexInformer{
		p.factory.Core().V1().Pods().Informer(), p.factory.Core().V1().Nodes().Informer(),
	} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return err
		}
	}
	p.factory.Start(ctx.Done())
	p.factory.WaitForCacheSync(ctx.Done())
	go func() { <-ctx.Done(); p.queue.ShutDown() }()
	for {
		key, stop := p.queue.Get()
		if stop {
			return nil
		}
		p.handle(ctx, key)
	}
}

func (p *pods) handle(ctx context.Context, key string) {
	defer p.queue.Done(key)
	if err := p.sync(ctx, key); err != nil && !apierrors.IsNotFound(err) {
		if !apierrors.IsConflict(err) {
			klog.ErrorS(err, "Not done", "key", key)
		}
		p.queue.AddRateLimited(key)
		return
	}
	p.queue.Forget(key)
}

// sync brings one pod, or one node, to where its object says that it should be.
func (p *pods) sync(ctx context.Context, key string) error {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return err
	}
	if namespace == "" {
		return p.syncNode(ctx, name)
	}
	pod, err := p.lister.Pods(namespace).Get(name)
	if apierrors.IsNotFound(err) {
		p.release(key)
		return nil
	}
	m := p.machines[pod.Spec.NodeName]
	if err != nil || m == nil {
		return err
	}
	if held := p.admitted[key]; held != nil && held.UID != pod.UID {
		p.release(key)
	}
	switch {
	case pod.DeletionTimestamp != nil:
		return p.end(ctx, key, pod)
	case pod.Status.Phase == v1.PodFailed || pod.Status.Phase == v1.PodSucceeded:
		p.release(key)
		return nil
	case p.admitted[key] == nil:
		return p.admit(ctx, key, pod, m)
	default:
		return p.resize(ctx, key, pod)
	}
}

func (p *pods) syncNode(ctx context.Context, name string) error {
	node, err := p.nodes.Get(name)
	if m := p.machines[name]; err == nil && m != nil {
		return m.offer(ctx, node)
	}
	return err
}

// refusal is why a pod does not fit on its node beside the others that were admitted there; empty where it does.
func (p *pods) refusal(key string, pod *v1.Pod) (string, error) {
	node, err := p.nodes.Get(pod.Spec.NodeName)
	if err != nil {
		return "", err
	}
	info := framework.NewNodeInfo()
	info.SetNode(node)
	for other, held := range p.admitted {
		if other != key && held.Spec.NodeName == node.Name {
			info.AddPod(held)
		}
	}
	for _, result := range scheduler.AdmissionCheck(pod, info, false) {
		if result.InsufficientResource != nil {
			return "OutOf" + string(result.InsufficientResource.ResourceName), nil
		}
		return result.Name, nil
	}
	return "", nil
}

// admit reports a pod as running, or as rejected where it does not fit.
func (p *pods) admit(ctx context.Context, key string, pod *v1.Pod, m *machine) error {
	reason, err := p.refusal(key, pod)
	if err != nil {
		return err
	}
	told := pod.DeepCopy()
	if reason != "" {
		klog.InfoS("Rejected", "pod", key, "node", m.name, "reason", reason)
		told.Status.Phase, told.Status.Reason = v1.PodFailed, reason
		told.Status.Message = "Pod was rejected: it does not fit"
	} else {
		report(told, m)
	}
	if _, err := p.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, told, metav1.UpdateOptions{}); err != nil {
		return err
	}
	if reason == "" {
		p.admitted[key] = allocated(pod)
	}
	return nil
}

// end reports a pod that is being deleted as ended, and then deletes its object for good.
func (p *pods) end(ctx context.Context, key string, pod *v1.Pod) error {
	asked := pod.DeletionTimestamp.Add(-grace(pod))
	if wait := time.Until(asked.Add(min(ending+hooks(pod), grace(pod)))); wait > 0 {
		p.queue.AddAfter(key, wait)
		return nil
	}
	if told := pod.DeepCopy(); finish(told) {
		if _, err := p.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, told, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	p.release(key)
	if ptr.Deref(pod.DeletionGracePeriodSeconds, 1) == 0 {
		return nil // a finalizer keeps the object
	}
	options := metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0), Preconditions: &metav1.Preconditions{UID: &pod.UID}}
	err := p.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, options)
	if apierrors.IsConflict(err) {
		return nil // another pod of that name
	}
	return err
}

// hooks is how long the longest sleep before the end of a container takes.
func hooks(pod *v1.Pod) time.Duration {
	longest := time.Duration(0)
	for _, container := range pod.Spec.Containers {
		if life := container.Lifecycle; life != nil && life.PreStop != nil && life.PreStop.Sleep != nil {
			longest = max(longest, time.Duration(life.PreStop.Sleep.Seconds)*time.Second)
		}
	}
	return longest
}

func grace(pod *v1.Pod) time.Duration {
	return time.Duration(ptr.Deref(pod.DeletionGracePeriodSeconds, 0)) * time.Second
}

// release frees what a pod held, and looks again at those that wait to be resized.
func (p *pods) release(key string) {
	held := p.admitted[key]
	if held == nil {
		return
	}
	delete(p.admitted, key)
	for other, neighbour := range p.admitted {
		if neighbour.Spec.NodeName == held.Spec.NodeName {
			p.queue.Add(other)
		}
	}
}
