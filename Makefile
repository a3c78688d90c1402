# Two commands matter: `make demo` and `make test`. Both set up what they need.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: demo test check unit setup kube clean

setup: $(READY)

$(READY): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	touch $@

demo: $(READY)
	@$(BIN)/moorage simulate examples/demo/cluster examples/demo/workloads --config examples/demo/scheduler.yaml --plugin examples/demo/quiet_nodes.py --seed 7

test: check unit

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

unit: $(READY)
	$(BIN)/pytest

clean:
	rm -rf $(VENV) build dist

include kube.mk
