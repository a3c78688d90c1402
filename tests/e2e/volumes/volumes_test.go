// Package volumes holds Kubernetes' own end-to-end specs about volumes and nodes, of which some concern scheduling, in a
// binary of their own: what the others are built from does not wait for drivers of volumes.
package volumes

import (
	"testing"

	_ "k8s.io/kubernetes/test/e2e/common/node"
	_ "k8s.io/kubernetes/test/e2e/node"
	_ "k8s.io/kubernetes/test/e2e/storage"

	"moorage/tests/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

func TestE2E(t *testing.T) { harness.Run(t, "Kubernetes e2e suite, volumes and nodes") }
