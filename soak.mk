# moorage run under load for long, and whether anything grows; docs/robustness.md.
SOAK    ?= churn
MINUTES ?=

.PHONY: soak

soak: $(READY) kube
	@$(BIN)/python -m tests.soak $(SOAK) $(if $(MINUTES),--minutes $(MINUTES))
