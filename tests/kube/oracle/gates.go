package main

import (
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
)

// openGates sets a case's feature gates, and returns what sets them back: the next case may want others.
func openGates(gates map[string]bool) (func(), error) {
	if len(gates) == 0 {
		return func() {}, nil
	}
	before := map[string]bool{}
	for name := range gates {
		before[name] = utilfeature.DefaultFeatureGate.Enabled(featuregate.Feature(name))
	}
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(gates); err != nil {
		return nil, err
	}
	return func() { _ = utilfeature.DefaultMutableFeatureGate.SetFromMap(before) }, nil
}
