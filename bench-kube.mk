# Moorage beside kube-scheduler on a real API server; see bench/kube.py.
.PHONY: bench-kube bench-first-bind

bench-kube: $(READY) kube
	@$(BIN)/python bench/kube.py $(BENCH_KUBE)

# From the start of the process to its first binding; see bench/first_bind.py.
bench-first-bind: $(READY) kube
	@$(BIN)/python bench/first_bind.py $(FIRST_BIND)
