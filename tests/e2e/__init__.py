"""Kubernetes' own end-to-end specs about scheduling, with kube-scheduler and with Moorage.

`make e2e` runs them; nothing of upstream is here but the names of what is run. `suite`, `volumes`,
`harness` and `kubelet` are Go: the specs in two binaries, what these have in common, and a kubelet
without containers. Here are the groups of specs (`groups`), the cluster they run on (`cluster`),
one run of a binary (`specs`), and the table that is written to docs/parity.md (`report`).
"""
