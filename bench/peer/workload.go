package main

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	zones = 3
	apps  = 10
)

func newNode(i int) *v1.Node {
	name := fmt.Sprintf("node-%d", i)
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			v1.LabelHostname:     name,
			v1.LabelTopologyZone: fmt.Sprintf("zone-%d", i%zones),
		}},
		Status: v1.NodeStatus{Capacity: nodeResources(), Allocatable: nodeResources()},
	}
}

func nodeResources() v1.ResourceList {
	return v1.ResourceList{
		v1.ResourceCPU:    resource.MustParse("32"),
		v1.ResourceMemory: resource.MustParse("256Gi"),
		v1.ResourcePods:   resource.MustParse("110"),
	}
}

// newPod is pod i of a workload. All kinds but basic ask for varying amounts; the last three add one constraint.
func newPod(kind string, i int) (*v1.Pod, error) {
	milliCPU, mebibytes := int64(50+37*i%400), int64(100+53*i%900)
	if kind == "basic" {
		milliCPU, mebibytes = 100, 500
	}
	app := map[string]string{"app": fmt.Sprintf("a%d", i%apps)}
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("pod-%d", i), Namespace: metav1.NamespaceDefault, UID: types.UID(fmt.Sprintf("uid-%d", i)), Labels: app,
		},
		Spec: v1.PodSpec{SchedulerName: v1.DefaultSchedulerName, Containers: []v1.Container{{Name: "c", Image: "app"}}},
	}
	pod.Spec.Containers[0].Resources.Requests = v1.ResourceList{
		v1.ResourceCPU:    *resource.NewMilliQuantity(milliCPU, resource.DecimalSI),
		v1.ResourceMemory: *resource.NewQuantity(mebibytes<<20, resource.BinarySI),
	}
	if name := claimName(kind, i); name != "" {
		pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "devices", ResourceClaimName: &name}}
		return pod, nil
	}
	return pod, constrain(kind, &pod.Spec, &metav1.LabelSelector{MatchLabels: app})
}

func constrain(kind string, spec *v1.PodSpec, own *metav1.LabelSelector) error {
	switch kind {
	case "basic", "varied":
	case "spread":
		spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{
			{MaxSkew: 5, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: own},
		}
	case "antiaffinity":
		spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{TopologyKey: v1.LabelHostname, LabelSelector: own}},
		}}
	case "affinity":
		near := v1.PodAffinityTerm{TopologyKey: v1.LabelTopologyZone, LabelSelector: own}
		spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{Weight: 10, PodAffinityTerm: near}},
		}}
	default:
		return fmt.Errorf("no such workload: %q (basic, varied, spread, antiaffinity, affinity, claims, claims-match or claims-shared)", kind)
	}
	return nil
}
