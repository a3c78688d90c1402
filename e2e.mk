# Kubernetes' own end-to-end specs about scheduling, with kube-scheduler and with Moorage; docs/parity.md.
# make e2e GROUP=apps FOCUS='a regular expression' for a part of them.
GROUP ?= all

.PHONY: e2e e2e-programs

kube-tests: e2e-programs

e2e-programs: kube
	@tests/kube/build.sh e2e

e2e: $(READY) e2e-programs
	@$(BIN)/python -m tests.e2e --group $(GROUP) $(if $(FOCUS),--focus '$(FOCUS)')
