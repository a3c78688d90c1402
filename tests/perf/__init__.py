"""Upstream's scheduler_perf as bench/perf reads it, counts it, and runs it at its smallest."""
