"""Upstream's scheduler_perf on a real API server, with kube-scheduler and with Moorage.

`make bench-perf [CASE=...]` reads every performance-config.yaml of the Kubernetes release that
`make kube` builds from, and carries out what it says; nothing of it is in this repository.

`module` finds the release's sources. `cases` reads configurations and `go_template` the manifests
beside them. `operations` carries out a workload's operations through `client` and `devices`,
`throughput` counts as upstream does, `attempts` reads the histogram of attempts. `schedulers`
starts one of the two, `run` runs one workload with it, `ceiling` measures what the API server
bears, and `report` writes the tables to docs/scheduler-perf.md and their summary to
docs/performance.md. `plan` says what comes first, `kept` what need not be measured again, and
`contention` whether others had use of the machine.
"""
