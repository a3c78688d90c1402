# Two replicas in virtual time while everything goes wrong, from a seed; docs/robustness.md.
FAULT_STEPS ?= 0

.PHONY: twin twin-mutants

twin: $(READY)
	@$(BIN)/python -m tests.twin --seed $(SEED) --runs $(RUNS) --fault-steps $(FAULT_STEPS)

# Every safeguard taken out in turn; each must be missed.
twin-mutants: $(READY)
	@$(BIN)/python -m tests.twin --mutants --seed 10 --runs 128
