"""What kube-scheduler decides, as data.

<feature>.jsonl.gz   generated cases with kube-scheduler's own outcome (`make parity-cases`)
found.jsonl.gz       cases that once differed, shrunk to what the difference needed
<plugin>.yaml        cases written by hand: what each plugin is for, in a few lines
"""
