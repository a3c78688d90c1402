"""Rows that are out of the question, found for all rows at once.

A row without pods of lower priority has no victims. A row that a rule refuses even with all of
them gone is refused by the first such rule, and so settled, as long as no rule before it would
have to be tried.
"""

from moorage.plugins.preemption import imagined
from moorage.plugins.preemption.explaining import Explanation
from moorage.plugins.preemption.ground import Ground
from moorage.plugins.preemption.imagined import Rows
from moorage.plugins.preemption.victims import NO_VICTIMS


def promising(ground: Ground, rows: Rows, explanation: Explanation) -> Rows:
    """The rows where evictions may help, in the order given; the others are explained."""
    cycle = ground.cycle
    bare = ground.lower.pods[rows] == 0
    explanation.refuse(rows[bare], NO_VICTIMS)
    rows = rows[~bare]
    for plugin in ground.rules.leading:
        if not len(rows):
            break
        codes = imagined.codes(cycle, plugin, rows, ground.emptied(rows), ground.promised)
        refused = codes != 0
        explanation.refuse_by(cycle, plugin, rows[refused], codes[refused])
        rows = rows[~refused]
    return rows
