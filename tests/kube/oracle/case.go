package main

import (
	"encoding/json"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourceapi "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
)

// testCase is one cluster and the pod to place in it. Nominated pods are pending ones that already hold a node
// through status.nominatedNodeName.
type testCase struct {
	ID        json.RawMessage `json:"id"`
	Config    json.RawMessage `json:"config"`
	Gates     map[string]bool `json:"featureGates"`
	Pod       *v1.Pod         `json:"pod"`
	Nodes     []*v1.Node      `json:"nodes"`
	Pods      []*v1.Pod       `json:"pods"`
	Nominated []*v1.Pod       `json:"nominated"`

	Namespaces             []*v1.Namespace                 `json:"namespaces"`
	PersistentVolumes      []*v1.PersistentVolume          `json:"persistentVolumes"`
	PersistentVolumeClaims []*v1.PersistentVolumeClaim     `json:"persistentVolumeClaims"`
	Services               []*v1.Service                   `json:"services"`
	ReplicationControllers []*v1.ReplicationController     `json:"replicationControllers"`
	ReplicaSets            []*appsv1.ReplicaSet            `json:"replicaSets"`
	StatefulSets           []*appsv1.StatefulSet           `json:"statefulSets"`
	PodDisruptionBudgets   []*policyv1.PodDisruptionBudget `json:"podDisruptionBudgets"`
	StorageClasses         []*storagev1.StorageClass       `json:"storageClasses"`
	CSINodes               []*storagev1.CSINode            `json:"csiNodes"`
	CSIDrivers             []*storagev1.CSIDriver          `json:"csiDrivers"`
	CSIStorageCapacities   []*storagev1.CSIStorageCapacity `json:"csiStorageCapacities"`
	DeviceClasses          []*resourceapi.DeviceClass      `json:"deviceClasses"`
	ResourceSlices         []*resourceapi.ResourceSlice    `json:"resourceSlices"`
	DeviceTaintRules       []*resourceapi.DeviceTaintRule  `json:"deviceTaintRules"`
	ResourceClaims         []*resourceapi.ResourceClaim    `json:"resourceClaims"`
}

// decode reads a case as the API machinery would read its objects. What the API server always fills in and the
// scheduler cannot work without (a uid, a scheduler name) is filled in where it is missing.
func decode(line []byte) (*testCase, error) {
	c := &testCase{}
	if err := utiljson.Unmarshal(line, c); err != nil {
		return c, fmt.Errorf("the case is not readable: %w", err)
	}
	if c.Pod == nil {
		return c, errors.New("the case has no pod to schedule (field \"pod\")")
	}
	for _, pods := range [][]*v1.Pod{c.Pods, c.Nominated, {c.Pod}} {
		for _, pod := range pods {
			complete(pod)
		}
	}
	return c, nil
}

func complete(pod *v1.Pod) {
	if pod.UID == "" {
		pod.UID = types.UID(pod.Namespace + "/" + pod.Name)
	}
	if pod.Spec.SchedulerName == "" {
		pod.Spec.SchedulerName = v1.DefaultSchedulerName
	}
}

// objects are those that reach the plugins through listers.
func (c *testCase) objects() []runtime.Object {
	var all []runtime.Object
	all = add(all, c.Nominated)
	all = add(all, c.Namespaces)
	all = add(all, c.PersistentVolumes)
	all = add(all, c.PersistentVolumeClaims)
	all = add(all, c.Services)
	all = add(all, c.ReplicationControllers)
	all = add(all, c.ReplicaSets)
	all = add(all, c.StatefulSets)
	all = add(all, c.PodDisruptionBudgets)
	all = add(all, c.StorageClasses)
	all = add(all, c.CSINodes)
	all = add(all, c.CSIDrivers)
	all = add(all, c.CSIStorageCapacities)
	all = add(all, c.DeviceClasses)
	all = add(all, c.ResourceSlices)
	all = add(all, c.DeviceTaintRules)
	return add(all, c.ResourceClaims)
}

func add[T runtime.Object](all []runtime.Object, some []T) []runtime.Object {
	for _, o := range some {
		all = append(all, o)
	}
	return all
}

// configuration is the case's, through the official scheme, defaults and checks, or the default one.
func (c *testCase) configuration() (*schedulerapi.KubeSchedulerConfiguration, error) {
	if len(c.Config) == 0 || string(c.Config) == "null" {
		return latest.Default()
	}
	o, _, err := scheme.Codecs.UniversalDecoder().Decode(c.Config, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	config, ok := o.(*schedulerapi.KubeSchedulerConfiguration)
	if !ok {
		return nil, fmt.Errorf("config: a %T is not a KubeSchedulerConfiguration", o)
	}
	if err := validation.ValidateKubeSchedulerConfiguration(config); err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	if len(config.Extenders) > 0 {
		return nil, errors.New("config: extenders are not called here; leave them out of the case")
	}
	return config, nil
}
