"""Making room: which pods would have to go, and on which node that hurts least.

Law of the package: it decides and changes nothing. A dry run works on the live table inside a
trial that is rolled back, or on arithmetic that equals it; who evicts the victims is the
scheduler's edge. The flow, a file each:

    eligibility   may this pod preempt at all
    candidates    which rows are tried, and when to stop
    settling      rows that are out of the question, found for all rows at once
    reprieving    a row's victims, by trial
    columnwise    the victims of many rows at once, where only resources can refuse
    choosing      the candidate that hurts least
    explaining    why nothing helped
    underway      preemptions whose evictions the edge has not finished yet

What they stand on: `importance` and `go_sort` order victims as kube-scheduler does, `budgets`
knows which of them are protected, `lower` sums up what lower-priority pods use, `imagined` asks
rules about rows as they would be, `ground` gathers that for one search, and `kept` keeps what
outlives it.
"""
