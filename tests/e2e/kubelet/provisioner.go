package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	storagehelpers "k8s.io/component-helpers/storage/volume"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
)

const provisionerName = "moorage.io/fake"

// provisioner makes volumes that hold nothing, each on the node that the scheduler has chosen for its first pod.
type provisioner struct {
	client kubernetes.Interface
}

// run creates the default storage class, and volumes for claims of it from then on.
func (p *provisioner) run(ctx context.Context, factory informers.SharedInformerFactory) error {
	class := &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{
			Name: "fake", Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"},
		},
		Provisioner: provisionerName, VolumeBindingMode: ptr.To(storagev1.VolumeBindingWaitForFirstConsumer),
	}
	_, err := p.client.StorageV1().StorageClasses().Create(ctx, class, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	handle := func(obj any) {
		if err := p.handle(ctx, obj); err != nil && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) {
			klog.ErrorS(err, "Volume neither made nor removed")
		}
	}
	handler := cache.ResourceEventHandlerFuncs{AddFunc: handle, UpdateFunc: func(_, obj any) { handle(obj) }}
	for _, informer := range []cache.SharedIndexInformer{
		factory.Core().V1().PersistentVolumeClaims().Informer(), factory.Core().V1().PersistentVolumes().Informer(),
	} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return err
		}
	}
	return nil
}

func (p *provisioner) handle(ctx context.Context, obj any) error {
	switch found := obj.(type) {
	case *v1.PersistentVolumeClaim:
		node := found.Annotations[storagehelpers.AnnSelectedNode]
		if found.Spec.VolumeName != "" || node == "" || found.Annotations[storagehelpers.AnnStorageProvisioner] != provisionerName {
			return nil
		}
		_, err := p.client.CoreV1().PersistentVolumes().Create(ctx, volumeFor(found, node), metav1.CreateOptions{})
		return err
	case *v1.PersistentVolume:
		if found.Annotations[storagehelpers.AnnDynamicallyProvisioned] == provisionerName && found.Status.Phase == v1.VolumeReleased {
			return p.client.CoreV1().PersistentVolumes().Delete(ctx, found.Name, metav1.DeleteOptions{})
		}
	}
	return nil
}

func volumeFor(claim *v1.PersistentVolumeClaim, node string) *v1.PersistentVolume {
	here := v1.NodeSelectorRequirement{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{node}}
	terms := []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{here}}}
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name:        "pvc-" + string(claim.UID),
			Annotations: map[string]string{storagehelpers.AnnDynamicallyProvisioned: provisionerName},
		},
		Spec: v1.PersistentVolumeSpec{
			Capacity: claim.Spec.Resources.Requests.DeepCopy(), AccessModes: claim.Spec.AccessModes,
			PersistentVolumeReclaimPolicy: v1.PersistentVolumeReclaimDelete,
			StorageClassName:              ptr.Deref(claim.Spec.StorageClassName, ""), VolumeMode: claim.Spec.VolumeMode,
			ClaimRef: &v1.ObjectReference{
				Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
			},
			PersistentVolumeSource: v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/fake"}},
			NodeAffinity:           &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: terms}},
		},
	}
}
