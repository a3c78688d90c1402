# Two replicas on a real API server while everything goes wrong, from a seed; docs/robustness.md.
CHAOS_SECONDS ?= 40
PARALLEL      ?= 1

.PHONY: chaos

chaos: $(READY) kube
	@$(BIN)/python -m tests.chaos --seed $(SEED) --runs $(RUNS) --seconds $(CHAOS_SECONDS) --parallel $(PARALLEL) \
	    $(if $(RESULTS),--results $(RESULTS))
