//go:build tools

// Package kube holds what is built from Kubernetes' own sources to test Moorage against: the control plane of
// the integration tests, kubectl, and the oracle. This file makes the go.mod beside it cover the programs of the first two.
package kube

import (
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-scheduler"
	_ "k8s.io/kubernetes/cmd/kubectl"
)
