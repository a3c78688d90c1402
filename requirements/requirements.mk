# What Moorage is made of: lock files, the wheel, the bill of materials, licences; see docs/security.md.
LOCK    := compile --quiet --universal --python-version 3.11 --generate-hashes --no-config \
           --no-emit-index-url --no-annotate --custom-compile-command 'make lock'
AUDIT   := build/audit
CONTENT := build/locked
WHEEL   := dist/.wheel
EPOCH   := $(shell git log -1 --format=%ct 2>/dev/null || echo 315532800)
PIP     := -m pip --quiet --disable-pip-version-check
ALLOWED := Apache Software License;Apache-2.0;BSD License;BSD-2-Clause;BSD-3-Clause;MIT;MIT License;ISC;PSF-2.0;Python Software Foundation License;0BSD;Zlib;CC0-1.0;BSD-3-Clause AND 0BSD AND MIT AND Zlib AND CC0-1.0;Apache-2.0 AND BSD-2-Clause;Apache-2.0 AND MIT;Mozilla Public License 2.0;MPL-2.0

.PHONY: lock wheel sbom licences audit

$(AUDIT)/.ready: requirements/audit.lock
	test -x $(AUDIT)/bin/python || $(PYTHON) -m venv $(AUDIT)
	$(AUDIT)/bin/python $(PIP) install --require-hashes -r requirements/audit.lock
	touch $@

# Only what the image holds: the locked dependencies and the wheel.
$(CONTENT)/.ready: requirements/run.lock $(WHEEL)
	rm -rf $(CONTENT) && $(PYTHON) -m venv --without-pip $(CONTENT)
	$(PYTHON) $(PIP) --python $(CONTENT)/bin/python install --require-hashes -r requirements/run.lock
	$(PYTHON) $(PIP) --python $(CONTENT)/bin/python install --no-deps dist/moorage-*.whl
	touch $@

lock: $(AUDIT)/.ready
	$(AUDIT)/bin/uv pip $(LOCK) pyproject.toml --extra record -o requirements/run.lock
	$(AUDIT)/bin/uv pip $(LOCK) pyproject.toml --extra test -c requirements/run.lock -o requirements/test.lock
	$(AUDIT)/bin/uv pip $(LOCK) requirements/build.in -o requirements/build.lock
	$(AUDIT)/bin/uv pip $(LOCK) requirements/audit.in -o requirements/audit.lock

# The same commit gives the same bytes: the time is the commit's, the tools are locked.
wheel: $(WHEEL)

$(WHEEL): pyproject.toml setup.py requirements/build.lock $(shell find src -name '*.py' -o -name '*.c' -o -path '*/dashboard/page/*' 2>/dev/null)
	rm -rf dist build/lib* build/temp* build/bdist* && mkdir -p dist
	$(PYTHON) $(PIP) install --require-hashes --target dist/.tools -r requirements/build.lock
	umask 022 && SOURCE_DATE_EPOCH=$(EPOCH) PYTHONPATH=dist/.tools $(PYTHON) $(PIP) wheel --no-build-isolation --no-deps --wheel-dir dist .
	sha256sum dist/*.whl
	touch $@

sbom: $(CONTENT)/.ready $(AUDIT)/.ready
	$(AUDIT)/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible -o dist/moorage.cdx.json $(CONTENT)/bin/python
	@echo dist/moorage.cdx.json

licences: $(CONTENT)/.ready $(AUDIT)/.ready
	$(AUDIT)/bin/pip-licenses --python=$(CONTENT)/bin/python --from=mixed --allow-only='$(ALLOWED)'

# Asks a database of advisories: it needs a network.
audit: $(AUDIT)/.ready
	for lock in run build; do $(AUDIT)/bin/pip-audit --require-hashes --disable-pip -r requirements/$$lock.lock || exit 1; done
