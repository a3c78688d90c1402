# `make help` says what there is; whatever you choose sets up what it needs.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
NEEDED := $(VENV)/.needed
READY  := $(VENV)/.ready
MADE_OF := pyproject.toml setup.py $(wildcard src/moorage/kernels/*.c)
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
MORE   := tests/tests.mk bench/bench.mk deploy/deploy.mk requirements/requirements.mk

.PHONY: demo test check bench docs help setup clean

help:
	@echo 'make demo    schedule a small cluster in memory, and see why one pod waits'
	@echo 'make test    formatting, lint, types, imports, and every test that needs nothing but Python'
	@echo 'make check   the first four alone, and the architecture'
	@echo 'make bench   how many pods a second are scheduled, a JSON line per kind (NODES=5000 PODS=3000)'
	@echo 'make docs    run the commands of the documents and follow their links'
	@echo 'make help    this'
	@echo
	@echo 'More are in these files, with what each takes:'
	@for file in $(MORE); do echo "$$file: $$(sed -n 's/^\.PHONY: //p' $$file | tr '\n' ' ')" | fold -s -w 100; done

demo: $(NEEDED)
	@echo 'Scheduling examples/demo on a cluster held in memory ...'
	@$(BIN)/moorage simulate examples/demo/cluster examples/demo/workloads \
	    --config examples/demo/scheduler.yaml --plugin examples/demo/quiet_nodes.py --seed 7

# What Moorage itself needs, and no more; `make setup` adds what tests need.
$(NEEDED): $(MADE_OF)
	@echo 'Setting up $(VENV) with what Moorage needs (once; half a minute) ...'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(INSTALL) --no-compile -e .
	@touch $@

setup: $(READY)

$(READY): $(MADE_OF)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(if $(LOCKED),$(INSTALL) --require-hashes -r requirements/test.lock)
	$(INSTALL) -e '.[test]'
	$(BIN)/python -m compileall -q -j 0 src
	-$(BIN)/python -m compileall -q -j 0 $(VENV)/lib  # what `make demo` has left uncompiled
	touch $(NEEDED) $@

clean:
	rm -rf $(VENV) build dist

include $(MORE)
