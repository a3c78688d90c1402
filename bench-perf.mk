# Upstream's scheduler_perf on a real API server, with both schedulers; docs/performance.md.
# make bench-perf CASE='a regular expression' LABELS='integration-test performance' NODES_MAX=5000 PODS_MAX=12000
LABELS    ?= integration-test performance
NODES_MAX ?= 5000
PODS_MAX  ?= 12000

.PHONY: bench-perf

bench-perf: $(READY) kube
	@$(BIN)/python -m bench.perf $(if $(CASE),--case '$(CASE)') $(foreach label,$(LABELS),--label $(label)) \
	    --nodes $(NODES_MAX) --pods $(PODS_MAX) --write
