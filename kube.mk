# Kubernetes' own programs, to test and measure against; see tests/kube/build.sh.
.PHONY: kube oracle bench-peer

kube: | $(READY)
	@tests/kube/build.sh kube
	@tests/kube/build.sh oracle

oracle bench-peer:
	@tests/kube/build.sh $@
