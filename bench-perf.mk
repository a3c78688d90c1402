# Upstream's scheduler_perf on a real API server, with both schedulers; docs/scheduler-perf.md.
# make bench-perf CASE='a regular expression' LABELS='integration-test performance' NODES_MAX=5000 PODS_MAX=12000 \
#     MINUTES=30 RESUME=1 MEASURED_PODS=2000 SCHEDULER=moorage
LABELS    ?= integration-test performance
NODES_MAX ?= 5000
PODS_MAX  ?= 12000

.PHONY: bench-perf

bench-perf: $(READY) kube
	@$(BIN)/python -m bench.perf $(if $(CASE),--case '$(CASE)') $(foreach label,$(LABELS),--label $(label)) \
	    --nodes $(NODES_MAX) --pods $(PODS_MAX) $(if $(MINUTES),--minutes $(MINUTES)) $(if $(RESUME),--resume) \
	    $(if $(MEASURED_PODS),--measured-pods $(MEASURED_PODS)) $(if $(SCHEDULER),--scheduler $(SCHEDULER)) --write
