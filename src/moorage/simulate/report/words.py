"""What a comparison found, in sentences."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from moorage.simulate.comparison import Comparison, Difference


class Headline(NamedTuple):
    """A KPI that a verdict mentions, and whether less of it is better."""

    kpi: str
    words: str
    less_is_better: bool = True


HEADLINES: Final = (
    Headline("never_placed", "pods never placed"),
    Headline("gangs_never_placed", "gangs never placed"),
    Headline("wait_s.mean", "mean waiting"),
    Headline("wait_s.p95", "p95 of waiting"),
    Headline("completion_s.mean", "mean completion time"),
    Headline("slo_attained", "pods within the waiting target", less_is_better=False),
    Headline("cost", "cost of nodes in use"),
    Headline("cost_provisioned", "cost of all nodes"),
    Headline("nodes_used_mean", "nodes in use"),
    Headline("evictions", "evictions"),
    Headline("work_lost_s", "work lost"),
    Headline("fairness", "fairness between tenants", less_is_better=False),
    Headline("spread_kept", "spread over zones", less_is_better=False),
)


class Finding(NamedTuple):
    """A headline, and how two configurations differ in it."""

    headline: Headline
    difference: Difference
    percent: float | None

    @property
    def is_better(self) -> bool:
        """Whether the second is significantly better than the first."""
        less = self.difference.mean < 0
        return self.difference.is_significant and less == self.headline.less_is_better

    @property
    def is_worse(self) -> bool:
        """Whether the second is significantly worse than the first."""
        return self.difference.is_significant and not self.is_better

    @property
    def sentence(self) -> str:
        """The change in words, with its interval: `mean waiting -12 % (-15 to -9 %)`."""
        mean, low, high = self.difference.mean, self.difference.low, self.difference.high
        part = self.percent / mean if self.percent is not None and mean else 1.0
        unit = "" if self.percent is None else " %"
        change = f"{mean * part:+.3g}{unit}"
        if low is None or high is None:
            return f"{self.headline.words} {change}"
        between = f" ({low * part:+.3g} to {high * part:+.3g}{unit})"
        return f"{self.headline.words} {change}{between}"


def findings(found: Comparison, pair: tuple[str, str]) -> Iterator[Finding]:
    """A finding for every headline that both configurations have."""
    by_kpi = {each.kpi: each for each in found.differences if each.configurations == pair}
    base = next(outcome for outcome in found.configurations if outcome.name == pair[0])
    for headline in HEADLINES:
        difference = by_kpi.get(headline.kpi)
        if difference is not None:
            before = base.intervals[headline.kpi].mean
            percent = 100 * difference.mean / abs(before) if before else None
            yield Finding(headline, difference, percent)


def verdict(found: Comparison, pair: tuple[str, str]) -> list[str]:
    """The second configuration judged against the first, in a few sentences."""
    first, second = pair
    listed = list(findings(found, pair))
    better = [each.sentence for each in listed if each.is_better]
    worse = [each.sentence for each in listed if each.is_worse]
    seeds = min(len(outcome.seeds) for outcome in found.configurations)
    if seeds < 2:
        return [f"One seed tells nothing of chance: run {first} and {second} on several."]
    if not better and not worse:
        return [f"{second} does not differ from {first} by more than chance, in {seeds} seeds."]
    sentences = []
    if better and not worse:
        sentences.append(f"{second} is better than {first}, and worse in nothing that is shown.")
    elif worse and not better:
        sentences.append(f"{second} is worse than {first}, and better in nothing that is shown.")
    else:
        sentences.append(f"{second} is better than {first} in some ways, and worse in others.")
    if better:
        sentences.append(f"Better: {'; '.join(better)}.")
    if worse:
        sentences.append(f"Worse: {'; '.join(worse)}.")
    return sentences


def pairs(found: Comparison) -> list[tuple[str, str]]:
    """Every configuration against the first."""
    first, *others = [outcome.name for outcome in found.configurations]
    return [(first, other) for other in others]
