"""Rows that are out of the question, found for all rows at once.

A row without pods of lower priority has no victims. A row that a rule refuses even with all of
them gone is refused by the first such rule, and so settled, as long as no rule before it would
have to be tried.
"""

import numpy as np

from moorage.framework.cycle import Cycle
from moorage.plugins.preemption.explaining import Explanation
from moorage.plugins.preemption.imagined import Rows, Rules, codes, promised
from moorage.plugins.preemption.kept import Kept
from moorage.plugins.preemption.lower import Usage
from moorage.plugins.preemption.victims import NO_VICTIMS


def promising(cycle: Cycle, kept: Kept, rules: Rules, rows: Rows, explanation: Explanation) -> Rows:
    """The rows where evictions may help, in the order given; the others are explained."""
    lower = kept.lower.below(cycle.incoming.priority)
    bare = lower.pods[rows] == 0
    explanation.refuse(rows[bare], NO_VICTIMS)
    rows = rows[~bare]
    for plugin in rules.leading:
        if not len(rows):
            break
        usage = without(cycle, lower, rows)
        written = codes(cycle, plugin, rows, usage, promised(cycle, rows))
        refused = written != 0
        explanation.refuse_by(cycle, plugin, rows[refused], written[refused])
        rows = rows[~refused]
    return rows


def without(cycle: Cycle, lower: Usage, rows: Rows) -> Usage:
    """What is in use on these rows once all pods of lower priority are gone."""
    table = cycle.table
    return Usage(
        np.asarray(table.pod_count[rows] - lower.pods[rows]),
        table.requested[:, rows] - lower.requested[:, rows],
    )
