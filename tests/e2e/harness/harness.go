// Package harness is what every binary of Kubernetes' end-to-end specs here has in common: flags, what is known of the
// cluster before the first spec, and the run.
package harness

import (
	"context"
	"flag"
	"os"
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/logs/testinit" // registers the flags of logs
	_ "k8s.io/kubernetes/test/e2e/feature"  // registers the names of features
	"k8s.io/kubernetes/test/e2e/framework"
	"k8s.io/kubernetes/test/e2e/framework/config"
	_ "k8s.io/kubernetes/test/e2e/framework/debug/init" // says more of a spec that failed
	e2enode "k8s.io/kubernetes/test/e2e/framework/node"
	_ "k8s.io/kubernetes/test/e2e/framework/node/init" // waits for nodes before a spec
	"k8s.io/kubernetes/test/e2e/framework/testfiles"
	e2etestingmanifests "k8s.io/kubernetes/test/e2e/testing-manifests"
)

// Main reads the flags, and runs what TestMain was called for.
func Main(m *testing.M) {
	config.CopyFlags(config.Flags, flag.CommandLine)
	framework.RegisterCommonFlags(flag.CommandLine)
	framework.RegisterClusterFlags(flag.CommandLine)
	flag.Parse()
	testfiles.AddFileSource(e2etestingmanifests.GetE2ETestingManifestsFS())
	framework.AfterReadingAllFlags(&framework.TestContext)
	os.Exit(m.Run())
}

// Run runs the specs of the packages that the binary imports.
func Run(t *testing.T, title string) {
	logs.InitLogs()
	defer logs.FlushLogs()
	gomega.RegisterFailHandler(framework.Fail)
	suite, reporter := framework.CreateGinkgoConfig()
	ginkgo.RunSpecs(t, title, suite, reporter)
}

var _ = ginkgo.SynchronizedBeforeSuite(func(ctx context.Context) []byte {
	client, err := framework.LoadClientset()
	framework.ExpectNoError(err, "loading the client")
	timeouts := framework.NewTimeoutContext()
	framework.ExpectNoError(e2enode.WaitForAllNodesSchedulable(ctx, client, timeouts.NodeSchedulable))
	nodes, err := e2enode.GetReadySchedulableNodes(ctx, client)
	framework.ExpectNoError(err, "listing nodes")
	framework.TestContext.CloudConfig.NumNodes = len(nodes.Items)
	framework.TestContext.IPFamily = "ipv4"
	return nil
}, func(context.Context, []byte) {})
