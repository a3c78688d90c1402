# Pods per second through an extender at 1,000 nodes; see bench/extender.py and docs/extenders.md.
.PHONY: bench-extender

bench-extender: $(READY) kube
	@$(BIN)/python bench/extender.py $(BENCH_EXTENDER)
