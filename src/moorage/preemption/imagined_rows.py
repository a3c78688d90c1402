"""The ground of a search for victims: which rules need no trial, and the sums about this pod."""

from typing import NamedTuple

from moorage.cycle.promised_rows import Rows, Usage, promised, reads_sums, reads_the_node
from moorage.framework.cycle import Cycle
from moorage.framework.points import Filter
from moorage.preemption.kept import Kept


class Rules(NamedTuple):
    """The active filters, in order, as far as they need no trial.

    `leading` are those before the first that needs one, `complete` whether there is none.
    """

    leading: tuple[Filter, ...]
    complete: bool


def rules(cycle: Cycle) -> Rules:
    """Which filters can be asked about imagined rows; none where they are not known."""
    leading: list[Filter] = []
    for plugin in cycle.refuses.filters:
        if not (reads_the_node(plugin) or reads_sums(plugin)):
            return Rules(tuple(leading), complete=False)
        leading.append(plugin)
    return Rules(tuple(leading), complete=True)


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
    return Ground(cycle, kept, rules(cycle), lower, promised(cycle))
