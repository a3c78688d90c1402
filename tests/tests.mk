# Tests: those of every change, those that need more, and long runs from a seed.
# WORKERS processes run them; each has a control plane of its own.
WORKERS ?= auto
# What is collected is compiled once: where Python may not keep that, ten seconds go each time.
PYTEST  := PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n $(WORKERS) --maxprocesses=4 --dist=worksteal
SEED    ?= 1
RUNS    ?= 20

.PHONY: lint fast

# Needs neither Go, Kubernetes, node, a browser nor, once it is set up, a network.
test: lint fast

check: lint
	$(BIN)/pytest -q tests/architecture
	@tools/check-page.sh

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fast: $(READY)
	$(PYTEST) -m 'not kube and not browser and not long'

docs: $(READY)
	$(BIN)/pytest -m 'not kube and not browser and not long' tests/docs tests/deploy/test_operations_docs.py

.PHONY: kube-tests browser-tests long-tests

kube-tests: $(READY) kube e2e-programs
	$(PYTEST) -m 'kube and not browser and not long'

browser-tests: $(READY)
	$(PYTEST) -m 'browser and not long'

# PYTHONS='python3.12 python3.13': the tests of `make test` with other Pythons, too.
long-tests: $(READY)
	HYPOTHESIS_PROFILE=long $(PYTEST) -m 'long or (hypothesis and not kube and not browser)'
	@tests/pythons.sh $(PYTHONS)
	@$(MAKE) --no-print-directory mutants

# Kubernetes' own programs, to test and measure against, in .kube-assets/bin; see tests/kube/build.sh.
.PHONY: kube oracle bench-peer kubectl e2e-programs

kube oracle bench-peer kubectl:
	@tests/kube/build.sh $@

e2e-programs: kube
	@tests/kube/build.sh e2e

# Kubernetes' own end-to-end specs about scheduling, with kube-scheduler and with Moorage; docs/parity.md.
# make e2e GROUP=apps FOCUS='a regular expression' for a part of them.
GROUP ?= all

.PHONY: e2e

e2e: $(READY) e2e-programs
	@$(BIN)/python -m tests.e2e --group $(GROUP) $(if $(FOCUS),--focus '$(FOCUS)')

# Random cases through kube-scheduler's own plugins and through Moorage; docs/parity.md.
CASES    ?= 1000
FEATURES ?= all

.PHONY: differential parity-cases

differential: $(READY) oracle
	@$(BIN)/python -m tests.differential --cases $(CASES) --seed $(SEED) --features $(FEATURES) $(if $(KEPT),--kept)

parity-cases: $(READY) oracle
	@$(BIN)/python -m tests.differential.saving --seed $(SEED) --out tests/parity

# Where every example, scenario and bench puts its pods, frozen anew; prints what has changed.
.PHONY: frozen

frozen: $(READY)
	@$(BIN)/python -m tests.frozen

# Two replicas on a real API server while everything goes wrong, from a seed; docs/robustness.md.
CHAOS_SECONDS ?= 40
PARALLEL      ?= 1

.PHONY: chaos

chaos: $(READY) kube
	@$(BIN)/python -m tests.chaos --seed $(SEED) --runs $(RUNS) --seconds $(CHAOS_SECONDS) --parallel $(PARALLEL) \
	    $(if $(RESULTS),--results $(RESULTS))

# The same in virtual time, RUNS=20 or FAULT_STEPS=1000000; and every safeguard taken out in turn: each must be missed.
FAULT_STEPS ?= 0

.PHONY: twin twin-mutants

twin: $(READY)
	@$(BIN)/python -m tests.twin --seed $(SEED) --runs $(RUNS) --fault-steps $(FAULT_STEPS)

twin-mutants: $(READY)
	@$(BIN)/python -m tests.twin --mutants --seed 10 --runs 128

# moorage run under load for long, and whether anything grows; docs/robustness.md.
SOAK    ?= churn
MINUTES ?=

.PHONY: soak

soak: $(READY) kube
	@$(BIN)/python -m tests.soak $(SOAK) $(if $(MINUTES),--minutes $(MINUTES))

# Objects and configurations that nobody would write, through everything that reads them (docs/security.md); and files
# of every type that somebody got wrong, through every command that reads them.
INPUTS ?= 10000

.PHONY: fuzz malformed

fuzz: $(READY)
	@$(BIN)/python -m tests.fuzz --inputs $(INPUTS) --seed $(SEED) $(if $(ONLY),--only $(ONLY))

malformed: $(READY)
	MALFORMED_INPUTS=$(INPUTS) MALFORMED_SEED=$(SEED) $(BIN)/pytest -q -o timeout=0 tests/unit/cli/test_malformed_input.py

# Small changes to the source, and which of them no test notices; docs/robustness.md. AGAIN=1 tries survivors anew.
MUTANTS ?= 300
JOBS    ?= 2

.PHONY: mutants

mutants: $(READY)
	@$(BIN)/python -m tests.mutants --seed $(SEED) --mutants $(MUTANTS) --jobs $(JOBS) $(if $(AGAIN),--again)
