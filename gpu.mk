# GPU packing on the openb trace: every policy, both tie rules, ten seeds; see docs/gpu.md.
.PHONY: bench-gpu

TRACES ?= .traces
SEEDS  ?= 42-51

bench-gpu: $(READY)
	@$(BIN)/python bench/gpu_table.py --traces $(TRACES) --seeds $(SEEDS)
