# Two commands matter: `make demo` and `make test`. Both set up what they need.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
NEEDED := $(VENV)/.needed
READY  := $(VENV)/.ready
DEMO   := examples/demo
KERNELS := $(wildcard src/moorage/kernels/*.c)

.PHONY: help setup demo test lint check fast kube-tests browser-tests long-tests bench bench-simulation bench-compare clean

help:
	@echo 'make demo           schedule a small cluster in memory, and see why one pod waits'
	@echo 'make test           format, lint, types, imports, and the tests that need nothing but Python'
	@echo 'make kube-tests     the tests with Kubernetes own programs (make browser-tests, make long-tests)'
	@echo 'make check          format, lint, types, imports, architecture'
	@echo 'make kube           etcd, kube-apiserver, kube-scheduler, kubectl and the oracle in .kube-assets'
	@echo 'make differential   random cases against kube-scheduler (CASES=1000 SEED=1)'
	@echo 'make chaos          two replicas on a real API server with faults from a seed (SEED=1 RUNS=20)'
	@echo 'make twin           two replicas in virtual time with faults from a seed (SEED=1 RUNS=20 or FAULT_STEPS=1000000)'
	@echo 'make soak           moorage run under load for long, and whether anything grows (SOAK=churn MINUTES=20)'
	@echo 'make bench          throughput of the decision and of simulations, a JSON line per kind (NODES=5000 PODS=3000)'
	@echo 'make bench-simulation  openb, a week of Philly, a million arrivals (ARRIVALS=1000000)'
	@echo 'make bench-compare  the same beside kube-scheduler, with ratios (COMPARE="--kinds claims --nodes 500")'
	@echo 'make bench-kube     both on a real API server: pods per second, CPU, memory'
	@echo 'make bench-first-bind  how long each takes from its start to its first binding (FIRST_BIND=--nodes=5000)'
	@echo 'make e2e            Kubernetes own end-to-end specs about scheduling, with both schedulers (GROUP=all FOCUS=)'
	@echo 'make bench-perf     upstream scheduler_perf on a real API server, with both (CASE= LABELS=)'
	@echo 'make fuzz           objects and configurations that nobody would write (INPUTS=10000 SEED=1)'
	@echo 'make wheel sbom     the wheel, byte for byte the same; what is in it (make licences audit lock)'
	@echo 'make bench-dashboard what three viewers cost the scheduler, one of them slow (DASHBOARD=--nodes=5000)'
	@echo 'make bench-frames   how long the map of 5,000 nodes takes to draw a frame, in Chromium'
	@echo 'make bench-extender pods per second through an extender, on a real API server'
	@echo 'make bench-gpu      GPU packing on the openb trace, beside FGD and others (TRACES=dir SEEDS=42-51)'

setup: $(READY)

$(READY): pyproject.toml setup.py $(KERNELS)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(if $(LOCKED),$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/test.lock)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	$(BIN)/python -m compileall -q -j 0 src
	-$(BIN)/python -m compileall -q -j 0 $(VENV)/lib  # what `make demo` has left uncompiled
	touch $(NEEDED) $@

# Installs what Moorage itself needs, and no more; `make setup` adds what tests need.
$(NEEDED): pyproject.toml setup.py $(KERNELS)
	@echo 'Setting up $(VENV) with what Moorage needs (once; half a minute) ...'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -e .
	@touch $@

demo: $(NEEDED)
	@echo 'Scheduling examples/demo on a cluster held in memory ...'
	@$(BIN)/moorage simulate $(DEMO)/cluster $(DEMO)/workloads \
	    --config $(DEMO)/scheduler.yaml --plugin $(DEMO)/quiet_nodes.py --seed 7

# What needs neither Go, Kubernetes, node, a browser nor, once it is set up, a network.
test: lint fast

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check: lint
	$(BIN)/pytest -q tests/architecture

# How many processes run the tests; each has a control plane of its own.
WORKERS ?= auto
TESTS   := $(BIN)/pytest -n $(WORKERS) --maxprocesses=4 --dist=worksteal

fast: $(READY)
	$(TESTS) -m 'not kube and not browser and not long'

kube-tests: $(READY) kube
	$(TESTS) -m 'kube and not browser and not long'

browser-tests: $(READY)
	$(TESTS) -m 'browser and not long'

# PYTHONS='python3.12 python3.13': the tests of `make test` with other Pythons, too.
long-tests: $(READY)
	$(TESTS) -m long
	@tests/pythons.sh $(PYTHONS)

NODES ?= 5000
PODS  ?= 3000

bench: $(READY)
	@for kind in basic varied spread antiaffinity affinity preemption nominated daemonset hostports gang gangpreemption churn gpu unschedulable volumes gated storm leaving seeking volumepreemption disruption; do \
	    $(BIN)/moorage bench --kind $$kind --nodes $(NODES) --pods $(PODS) || exit 1; \
	done
	@$(BIN)/python bench/simulation.py --arrivals $(ARRIVALS)

ARRIVALS ?= 1000000

bench-simulation: $(READY)
	@$(BIN)/python bench/simulation.py --arrivals $(ARRIVALS)

bench-compare: $(READY) bench-peer
	@$(BIN)/python bench/compare.py $(COMPARE)

RUNS ?= 20
SEED ?= 1

clean:
	rm -rf $(VENV) build dist

include kube.mk
include $(filter-out kube.mk,$(wildcard *.mk))
