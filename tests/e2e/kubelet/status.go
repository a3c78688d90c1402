package main

import (
	"context"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
)

var started = []v1.PodConditionType{
	v1.PodReadyToStartContainers, v1.PodInitialized, v1.ContainersReady, v1.PodReady,
}

// report writes into a pod's status that all of it runs, or that an image cannot be pulled.
func report(pod *v1.Pod, m *machine) {
	status, now := &pod.Status, metav1.Now()
	if waiting := unpullable(pod); waiting != nil {
		status.StartTime, status.ContainerStatuses, status.ObservedGeneration = &now, waiting, pod.Generation
		return
	}
	status.Phase, status.StartTime, status.ObservedGeneration = v1.PodRunning, &now, pod.Generation
	status.HostIP, status.HostIPs = m.address(), []v1.HostIP{{IP: m.address()}}
	status.PodIP = m.address()
	if !pod.Spec.HostNetwork {
		status.PodIP = m.podAddress()
	}
	status.PodIPs = []v1.PodIP{{IP: status.PodIP}}
	for _, kind := range started {
		condition := v1.PodCondition{Type: kind, Status: v1.ConditionTrue, ObservedGeneration: pod.Generation}
		podutil.UpdatePodCondition(status, &condition)
	}
	status.InitContainerStatuses, status.ContainerStatuses = nil, nil
	for _, container := range pod.Spec.InitContainers {
		restarts := ptr.Deref(container.RestartPolicy, "") == v1.ContainerRestartPolicyAlways
		status.InitContainerStatuses = append(status.InitContainerStatuses, containerStatus(container, restarts))
	}
	for _, container := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, containerStatus(container, true))
	}
}

// unpullable is the status of containers where an image names no registry, as those of specs do that are not to start; nil
// where all can be pulled.
func unpullable(pod *v1.Pod) []v1.ContainerStatus {
	var statuses []v1.ContainerStatus
	missing := false
	for _, container := range pod.Spec.Containers {
		missing = missing || !strings.Contains(container.Image, "/")
		waiting := &v1.ContainerStateWaiting{Reason: "ErrImagePull"}
		statuses = append(statuses, v1.ContainerStatus{
			Name: container.Name, Image: container.Image, State: v1.ContainerState{Waiting: waiting},
		})
	}
	if !missing {
		return nil
	}
	return statuses
}

func containerStatus(container v1.Container, runs bool) v1.ContainerStatus {
	state := v1.ContainerState{Terminated: &v1.ContainerStateTerminated{Reason: "Completed"}}
	if runs {
		state = v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: metav1.Now()}}
	}
	return v1.ContainerStatus{
		Name: container.Name, Image: container.Image, ImageID: container.Image, ContainerID: "fake://" + container.Name,
		Ready: true, Started: ptr.To(runs), State: state,
		Resources: container.Resources.DeepCopy(), AllocatedResources: container.Resources.Requests.DeepCopy(),
	}
}

// finish writes into a pod's status that none of it runs any more; false where it says so already.
func finish(pod *v1.Pod) bool {
	status := &pod.Status
	if status.Phase == v1.PodSucceeded || status.Phase == v1.PodFailed {
		return false
	}
	status.Phase = v1.PodSucceeded
	for i := range status.ContainerStatuses {
		container := &status.ContainerStatuses[i]
		container.Ready, container.Started = false, ptr.To(false)
		container.State = v1.ContainerState{Terminated: &v1.ContainerStateTerminated{Reason: "Completed"}}
	}
	for _, kind := range []v1.PodConditionType{v1.ContainersReady, v1.PodReady} {
		podutil.UpdatePodCondition(status, &v1.PodCondition{Type: kind, Status: v1.ConditionFalse, Reason: "PodCompleted"})
	}
	return true
}

// allocated is a pod as its node has admitted it.
func allocated(pod *v1.Pod) *v1.Pod {
	held := pod.DeepCopy()
	held.Status = v1.PodStatus{}
	return held
}

// resize gives a pod what it asks for by now, or reports why it has to wait.
func (p *pods) resize(ctx context.Context, key string, pod *v1.Pod) error {
	if !resized(p.admitted[key], pod) && pod.Status.ObservedGeneration == pod.Generation {
		return nil
	}
	wanted := allocated(pod)
	reason, err := p.refusal(key, wanted)
	if err != nil {
		return err
	}
	told := pod.DeepCopy()
	told.Status.ObservedGeneration = pod.Generation
	pending := v1.PodCondition{
		Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: v1.PodReasonDeferred,
		Message: "Node didn't have enough resource: " + reason, ObservedGeneration: pod.Generation,
	}
	if reason == "" {
		pending.Status, pending.Reason, pending.Message = v1.ConditionFalse, "", ""
		for i := range told.Status.ContainerStatuses {
			container := &told.Status.ContainerStatuses[i]
			container.Resources = told.Spec.Containers[i].Resources.DeepCopy()
			container.AllocatedResources = told.Spec.Containers[i].Resources.Requests.DeepCopy()
		}
	}
	podutil.UpdatePodCondition(&told.Status, &pending)
	if pending.Status == v1.ConditionFalse {
		told.Status.Conditions = without(told.Status.Conditions, v1.PodResizePending)
	}
	if equality.Semantic.DeepEqual(told.Status, pod.Status) {
		return nil
	}
	if _, err := p.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, told, metav1.UpdateOptions{}); err != nil {
		return err
	}
	if reason == "" {
		p.admitted[key] = wanted
	}
	return nil
}

func resized(held, pod *v1.Pod) bool {
	for i := range pod.Spec.Containers {
		if !equality.Semantic.DeepEqual(held.Spec.Containers[i].Resources, pod.Spec.Containers[i].Resources) {
			return true
		}
	}
	return false
}

func without(conditions []v1.PodCondition, kind v1.PodConditionType) []v1.PodCondition {
	kept := conditions[:0]
	for _, condition := range conditions {
		if condition.Type != kind {
			kept = append(kept, condition)
		}
	}
	return kept
}
