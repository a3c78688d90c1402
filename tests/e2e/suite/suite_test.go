// Package suite holds Kubernetes' own end-to-end specs as far as they concern scheduling, in one test binary:
// upstream's holds every package, and takes many times as long to build.
package suite

import (
	"testing"

	_ "k8s.io/kubernetes/test/e2e/apps"
	_ "k8s.io/kubernetes/test/e2e/scheduling"

	"moorage/tests/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

func TestE2E(t *testing.T) { harness.Run(t, "Kubernetes e2e suite, scheduling") }
