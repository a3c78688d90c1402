# What Moorage takes, and what others take for the same; docs/performance.md.
NODES    ?= 5000
PODS     ?= 3000
ARRIVALS ?= 1000000
KINDS    ?= basic varied spread antiaffinity affinity preemption nominated daemonset hostports gang \
    gangpreemption churn gpu unschedulable volumes gated storm leaving seeking volumepreemption disruption

.PHONY: bench-simulation bench-compare

bench: $(READY)
	@for kind in $(KINDS); do $(BIN)/moorage bench --kind $$kind --nodes $(NODES) --pods $(PODS) || exit 1; done
	@$(BIN)/python bench/simulation.py --arrivals $(ARRIVALS)

# openb, a week of Philly, a million arrivals; docs/simulation.md.
bench-simulation: $(READY)
	@$(BIN)/python bench/simulation.py --arrivals $(ARRIVALS)

# Beside kube-scheduler's own code, with ratios: COMPARE='--kinds claims --nodes 500'.
bench-compare: $(READY) bench-peer
	@$(BIN)/python bench/compare.py $(COMPARE)

# Both on a real API server; from the start of the process to its first binding (FIRST_BIND=--nodes=5000); and
# through an extender (docs/extenders.md).
.PHONY: bench-kube bench-first-bind bench-extender

bench-kube: $(READY) kube
	@$(BIN)/python bench/kube.py $(BENCH_KUBE)

bench-first-bind: $(READY) kube
	@$(BIN)/python bench/first_bind.py $(FIRST_BIND)

bench-extender: $(READY) kube
	@$(BIN)/python bench/extender.py $(BENCH_EXTENDER)

# Upstream's scheduler_perf on a real API server, with both schedulers; docs/scheduler-perf.md.
# make bench-perf CASE='a regular expression' LABELS='integration-test performance' NODES_MAX=5000 PODS_MAX=12000 \
#     MINUTES=30 RESUME=1 MEASURED_PODS=2000 SCHEDULER=moorage
LABELS    ?= integration-test performance
NODES_MAX ?= 5000
PODS_MAX  ?= 12000

.PHONY: bench-perf

bench-perf: $(READY) kube
	@$(BIN)/python -m bench.perf $(if $(CASE),--case '$(CASE)') $(foreach label,$(LABELS),--label $(label)) \
	    --nodes $(NODES_MAX) --pods $(PODS_MAX) $(if $(MINUTES),--minutes $(MINUTES)) $(if $(RESUME),--resume) \
	    $(if $(MEASURED_PODS),--measured-pods $(MEASURED_PODS)) $(if $(SCHEDULER),--scheduler $(SCHEDULER)) --write

# What viewers of the dashboard cost the scheduler (DASHBOARD=--nodes=5000), and how long the map of 5,000 nodes takes
# to draw a frame in Chromium; docs/dashboard.md.
.PHONY: bench-dashboard bench-dashboard-memory bench-frames

bench-dashboard: $(READY)
	@$(BIN)/python bench/dashboard.py $(DASHBOARD)

bench-dashboard-memory: $(READY)
	@$(BIN)/python bench/dashboard_memory.py $(DASHBOARD)

bench-frames: $(READY)
	@$(BIN)/python bench/dashboard_frames.py

# GPU packing on the openb trace: every policy, both tie rules, ten seeds; see docs/gpu.md.
.PHONY: bench-gpu

TRACES ?= .traces
SEEDS  ?= 42-51

bench-gpu: $(READY)
	@$(BIN)/python bench/gpu_table.py --traces $(TRACES) --seeds $(SEEDS)
