package main

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"
)

const (
	gpuDriver = "gpu.example.com"
	nicDriver = "nic.example.com"
	pcieRoot  = "resource.kubernetes.io/pcieRoot"
	sharers   = 8
)

// claimName is the claim of pod i; empty where the kind has no claims.
func claimName(kind string, i int) string {
	switch kind {
	case "claims", "claims-match":
		return fmt.Sprintf("claim-%d", i)
	case "claims-shared":
		return fmt.Sprintf("claim-%d", i/sharers)
	}
	return ""
}

// deviceObjects are the classes, slices and claims of a workload: eight devices for each node, in a pool of its own.
func deviceObjects(kind string, nodes, pods int) []runtime.Object {
	if claimName(kind, 0) == "" {
		return nil
	}
	all := []runtime.Object{newClass(gpuDriver), newClass(nicDriver)}
	for i := range nodes {
		node := fmt.Sprintf("node-%d", i)
		if kind == "claims-match" {
			all = append(all, newSlice(node, gpuDriver, 4), newSlice(node, nicDriver, 4))
		} else {
			all = append(all, newSlice(node, gpuDriver, 8))
		}
	}
	for i := range pods {
		if i == 0 || claimName(kind, i) != claimName(kind, i-1) {
			all = append(all, newClaim(kind, claimName(kind, i)))
		}
	}
	return all
}

func newClass(driver string) *resourceapi.DeviceClass {
	return &resourceapi.DeviceClass{
		ObjectMeta: metav1.ObjectMeta{Name: driver},
		Spec:       resourceapi.DeviceClassSpec{Selectors: []resourceapi.DeviceSelector{selector("device.driver == '" + driver + "'")}},
	}
}

func selector(expression string) resourceapi.DeviceSelector {
	return resourceapi.DeviceSelector{CEL: &resourceapi.CELDeviceSelector{Expression: expression}}
}

func newSlice(node, driver string, count int) *resourceapi.ResourceSlice {
	slice := &resourceapi.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: node + "-" + driver},
		Spec: resourceapi.ResourceSliceSpec{
			Driver:   driver,
			Pool:     resourceapi.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1},
			NodeName: &node,
		},
	}
	for i := range count {
		root := i
		if driver == nicDriver {
			root = 3 - i
		}
		slice.Spec.Devices = append(slice.Spec.Devices, resourceapi.Device{
			Name: fmt.Sprintf("dev-%d", i),
			Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{
				"model":  {StringValue: ptr.To("a100")},
				pcieRoot: {StringValue: ptr.To(fmt.Sprintf("root-%d", root))},
			},
			Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": {Value: resource.MustParse("80Gi")}},
		})
	}
	return slice
}

func newClaim(kind, name string) *resourceapi.ResourceClaim {
	claim := &resourceapi.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault, UID: types.UID(name), ResourceVersion: "1"},
	}
	claim.Spec.Devices.Requests = []resourceapi.DeviceRequest{newRequest("gpu", gpuDriver)}
	if kind == "claims-match" {
		claim.Spec.Devices.Requests = append(claim.Spec.Devices.Requests, newRequest("nic", nicDriver))
		claim.Spec.Devices.Constraints = []resourceapi.DeviceConstraint{{MatchAttribute: ptr.To(resourceapi.FullyQualifiedName(pcieRoot))}}
	}
	return claim
}

func newRequest(name, driver string) resourceapi.DeviceRequest {
	return resourceapi.DeviceRequest{Name: name, Exactly: &resourceapi.ExactDeviceRequest{
		DeviceClassName: driver,
		AllocationMode:  resourceapi.DeviceAllocationModeExactCount,
		Count:           1,
		Selectors:       []resourceapi.DeviceSelector{selector("device.attributes['" + driver + "'].model == 'a100'")},
	}}
}

// completeClaims takes what Reserve has booked as written, as PreBind would.
func completeClaims(manager fwk.SharedDRAManager, pod *v1.Pod) error {
	tracker := manager.ResourceClaims()
	for _, entry := range pod.Spec.ResourceClaims {
		claim, err := tracker.Get(pod.Namespace, *entry.ResourceClaimName)
		if err != nil {
			return err
		}
		pending := tracker.GetPendingAllocation(claim.UID)
		if pending == nil {
			continue
		}
		claim = claim.DeepCopy()
		claim.ResourceVersion = "2"
		claim.Status.Allocation = pending
		if err := tracker.AssumeClaimAfterAPICall(claim); err != nil {
			return err
		}
		tracker.MaybeRemoveClaimPendingAllocation(claim.UID, true)
	}
	return nil
}
