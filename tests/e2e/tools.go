//go:build tools

// Package e2e holds what Kubernetes' end-to-end specs are run with: a binary of those about scheduling (suite), a fake
// kubelet (kubelet), and kube-controller-manager, which this file makes the go.mod beside it cover.
package e2e

import _ "k8s.io/kubernetes/cmd/kube-controller-manager"
