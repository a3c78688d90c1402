# Moorage beside kube-scheduler on a real API server; see bench/kube.py.
.PHONY: bench-kube

bench-kube: $(READY) kube
	@$(BIN)/python bench/kube.py $(BENCH_KUBE)
