package main

import (
	"context"
	"fmt"
	"sort"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/structured"
	fwk "k8s.io/kube-scheduler/framework"
)

// nodeAllocation is what a pod's claims would get on a node: the allocation of each claim that has a name, and all
// devices, those for extended resources included.
type nodeAllocation struct {
	Error   string                                   `json:"error,omitempty"`
	Claims  map[string]*resourceapi.AllocationResult `json:"claims,omitempty"`
	Devices []string                                 `json:"devices,omitempty"`
}

// allocations reserves the pod on each feasible node in turn, and tells what the plugin has then booked.
func (cl *cluster) allocations(ctx context.Context, state fwk.CycleState, c *testCase, nodes []fwk.NodeInfo) map[string]nodeAllocation {
	if len(c.ResourceClaims) == 0 && len(c.DeviceClasses) == 0 {
		return nil
	}
	found := map[string]nodeAllocation{}
	tracker := cl.SharedDRAManager().ResourceClaims()
	for _, info := range nodes {
		name := info.Node().Name
		before, _ := tracker.GatherAllocatedState()
		status := cl.RunReservePluginsReserve(ctx, state, c.Pod, name)
		a := nodeAllocation{Claims: map[string]*resourceapi.AllocationResult{}}
		if !status.IsSuccess() {
			a.Error = fmt.Sprint(status.AsError())
		} else {
			for _, claim := range c.ResourceClaims {
				if pending := tracker.GetPendingAllocation(claim.UID); pending != nil {
					a.Claims[claim.Namespace+"/"+claim.Name] = copyOf(pending)
				}
			}
			after, _ := tracker.GatherAllocatedState()
			a.Devices = added(before, after)
		}
		cl.RunReservePluginsUnreserve(ctx, state, c.Pod, name)
		found[name] = a
	}
	return found
}

func copyOf(a *resourceapi.AllocationResult) *resourceapi.AllocationResult {
	a = a.DeepCopy()
	for i := range a.Devices.Results {
		if a.Devices.Results[i].ShareID != nil {
			share := types.UID("share")
			a.Devices.Results[i].ShareID = &share
		}
	}
	return a
}

func added(before, after *structured.AllocatedState) []string {
	if before == nil || after == nil {
		return nil
	}
	all := []string{}
	for id := range after.AllocatedDevices.Difference(before.AllocatedDevices) {
		all = append(all, id.String())
	}
	for id := range after.AllocatedSharedDeviceIDs.Difference(before.AllocatedSharedDeviceIDs) {
		all = append(all, id.GetDeviceID().String())
	}
	sort.Strings(all)
	return all
}
