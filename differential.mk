# Random cases through kube-scheduler's own plugins and through Moorage; docs/parity.md.
CASES    ?= 1000
SEED     ?= 1
FEATURES ?= all

.PHONY: differential parity-cases

differential: $(READY) oracle
	@$(BIN)/python -m tests.differential --cases $(CASES) --seed $(SEED) --features $(FEATURES) $(if $(KEPT),--kept)

parity-cases: $(READY) oracle
	@$(BIN)/python -m tests.differential.saving --seed $(SEED) --out tests/parity
