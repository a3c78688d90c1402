# Kubernetes' own programs, to test and measure against; see tests/kube/build.sh.
.PHONY: kube oracle bench-peer

kube oracle bench-peer:
	@tests/kube/build.sh $@
