"""kube-scheduler's plugins, one file each, in kube-scheduler's names.

Law of the package: a plugin is its arguments, its reasons are constants beside the rule, and its
rule is one pass over columns: no loop over nodes. Exactly what kube-scheduler decides; the
conformance vectors are the judge. Knows `api`, `cache`, `config` and `framework`; plugins do not
know each other.
"""
