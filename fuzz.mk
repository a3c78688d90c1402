# Objects and configurations that nobody would write, through everything that reads them; docs/security.md.
INPUTS ?= 10000

.PHONY: fuzz

fuzz: $(READY)
	@$(BIN)/python -m tests.fuzz --inputs $(INPUTS) --seed $(or $(SEED),1)
