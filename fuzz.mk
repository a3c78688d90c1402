# Objects and configurations that nobody would write, through everything that reads them; docs/security.md.
INPUTS ?= 10000

.PHONY: fuzz

fuzz: $(READY)
	@$(BIN)/python -m tests.fuzz --inputs $(INPUTS) --seed $(or $(SEED),1)

# Files of every type that somebody got wrong, through every command that reads them.
.PHONY: malformed

malformed: $(READY)
	MALFORMED_INPUTS=$(INPUTS) MALFORMED_SEED=$(or $(SEED),1) $(BIN)/pytest -q -o timeout=0 tests/unit/cli/test_malformed_input.py
