"""What one search stands on: worked out once, used for every row."""

from typing import NamedTuple

from moorage.framework.cycle import Cycle
from moorage.plugins.preemption import imagined
from moorage.plugins.preemption.imagined import Rows, Rules
from moorage.plugins.preemption.kept import Kept
from moorage.plugins.preemption.lower import Usage


class Ground(NamedTuple):
    """The pod's cycle, what is kept, and the sums that concern this pod.

    `lower` is what pods of lower priority use, `promised` what the pod must leave to others.
    """

    cycle: Cycle
    kept: Kept
    rules: Rules
    lower: Usage
    promised: Usage | None

    def emptied(self, rows: Rows) -> Usage:
        """What is in use on some rows once all pods of lower priority are gone."""
        table = self.cycle.table
        in_use = Usage(table.pod_count[rows], table.requested[:, rows])
        return in_use.minus(self.lower.at(rows))


def survey(cycle: Cycle, kept: Kept) -> Ground:
    lower = kept.lower.below(cycle.incoming.priority)
    return Ground(cycle, kept, imagined.rules(cycle), lower, imagined.promised(cycle))
