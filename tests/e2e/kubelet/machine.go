package main

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
)

const heartbeat = 5 * time.Second

// machine is one node: its object, its lease, and the addresses of its pods.
type machine struct {
	client  kubernetes.Interface
	name    string
	zone    string
	version string
	index   int
	port    int32
	pods    int
	known   v1.ResourceList
}

func newMachine(client kubernetes.Interface, name, zone, version string, index int) *machine {
	known := v1.ResourceList{
		v1.ResourceCPU:              resource.MustParse("4"),
		v1.ResourceMemory:           resource.MustParse("16Gi"),
		v1.ResourceEphemeralStorage: resource.MustParse("100Gi"),
		v1.ResourcePods:             resource.MustParse("110"),
	}
	return &machine{client: client, name: name, zone: zone, version: version, index: index, known: known}
}

// address is one of this machine's own, where the API server asks for what runs in containers.
func (m *machine) address() string { return fmt.Sprintf("127.1.0.%d", m.index+1) }

// podAddress is one that no pod of this node had before, for the first 62,000 of them.
func (m *machine) podAddress() string {
	m.pods++
	return fmt.Sprintf("10.%d.%d.%d", 10+m.index, m.pods/250%250, m.pods%250+1)
}

// register creates the node, and reports it ready.
func (m *machine) register(ctx context.Context) error {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: m.name,
		Labels: map[string]string{
			v1.LabelHostname:           m.name,
			v1.LabelOSStable:           "linux",
			v1.LabelArchStable:         "amd64",
			v1.LabelTopologyZone:       m.zone,
			v1.LabelTopologyRegion:     "region-1",
			v1.LabelInstanceTypeStable: "fake",
		},
	}}
	if _, err := m.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return err
	}
	status := v1.NodeStatus{
		Capacity:    maps.Clone(m.known),
		Allocatable: maps.Clone(m.known),
		Conditions:  m.conditions(),
		Addresses: []v1.NodeAddress{
			{Type: v1.NodeInternalIP, Address: m.address()},
			{Type: v1.NodeHostName, Address: m.name},
		},
		DaemonEndpoints: v1.NodeDaemonEndpoints{KubeletEndpoint: v1.DaemonEndpoint{Port: m.port}},
		NodeInfo: v1.NodeSystemInfo{
			KubeletVersion:          m.version,
			OperatingSystem:         "linux",
			Architecture:            "amd64",
			ContainerRuntimeVersion: "fake://1.0",
		},
	}
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error { // controllers write to new nodes, too
		created, err := m.client.CoreV1().Nodes().Get(ctx, m.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		created.Status = status
		_, err = m.client.CoreV1().Nodes().UpdateStatus(ctx, created, metav1.UpdateOptions{})
		return err
	})
}

func (m *machine) conditions() []v1.NodeCondition {
	now := metav1.Now()
	condition := func(kind v1.NodeConditionType, status v1.ConditionStatus, reason string) v1.NodeCondition {
		return v1.NodeCondition{Type: kind, Status: status, Reason: reason, LastHeartbeatTime: now, LastTransitionTime: now}
	}
	return []v1.NodeCondition{
		condition(v1.NodeReady, v1.ConditionTrue, "KubeletReady"),
		condition(v1.NodeMemoryPressure, v1.ConditionFalse, "KubeletHasSufficientMemory"),
		condition(v1.NodeDiskPressure, v1.ConditionFalse, "KubeletHasNoDiskPressure"),
		condition(v1.NodePIDPressure, v1.ConditionFalse, "KubeletHasSufficientPID"),
	}
}

// renew keeps the lease: without it the node lifecycle controller takes the node for lost.
func (m *machine) renew(ctx context.Context) error {
	leases := m.client.CoordinationV1().Leases(v1.NamespaceNodeLease)
	now := metav1.NowMicro()
	spec := coordinationv1.LeaseSpec{
		HolderIdentity: &m.name, LeaseDurationSeconds: ptr.To[int32](40), RenewTime: &now,
	}
	lease, err := leases.Get(ctx, m.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: m.name}, Spec: spec}
		_, err = leases.Create(ctx, lease, metav1.CreateOptions{})
		return err
	}
	if err != nil {
		return err
	}
	lease.Spec = spec
	_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	return err
}

// offer makes allocatable what others have put in the node's capacity, and no longer what they have taken out of it, as
// kubelet does with extended resources.
func (m *machine) offer(ctx context.Context, node *v1.Node) error {
	want := node.Status.Allocatable.DeepCopy()
	for name, quantity := range node.Status.Capacity {
		if isExtended(name) {
			want[name] = quantity
		}
	}
	for name := range want {
		if _, there := node.Status.Capacity[name]; !there && isExtended(name) {
			delete(want, name)
		}
	}
	if equality.Semantic.DeepEqual(want, node.Status.Allocatable) {
		return nil
	}
	changed := node.DeepCopy()
	changed.Status.Allocatable = want
	_, err := m.client.CoreV1().Nodes().UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	return err
}

func isExtended(name v1.ResourceName) bool { return strings.Contains(string(name), "/") }
