# What viewers of the dashboard cost the scheduler; see bench/dashboard.py and docs/dashboard.md.
.PHONY: bench-dashboard

bench-dashboard: $(READY)
	@$(BIN)/python bench/dashboard.py $(DASHBOARD)

.PHONY: bench-frames

bench-frames: $(READY)
	@$(BIN)/python bench/dashboard_frames.py

.PHONY: bench-dashboard-memory

bench-dashboard-memory: $(READY)
	@$(BIN)/python bench/dashboard_memory.py $(DASHBOARD)
