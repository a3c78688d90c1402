"""The comparison of canaries with their stable versions, as Prometheus metrics."""

from collections.abc import Collection, Iterator

from moorage.config.profile_canary import STABLE
from moorage.observe import catalogue
from moorage.observe.metric_families import Family, gauge
from moorage.rollout.canary import Canary

Labelled = tuple[tuple[str, ...], float]


def compared_families(canaries: Collection[Canary]) -> Iterator[Family]:
    """KPIs by version, the p-value of their difference, and the number of compared pods."""
    yield gauge(catalogue.VERSION_KPI, [one for each in canaries for one in _kpis(each)])
    yield gauge(catalogue.CANARY_P_VALUE, [one for each in canaries for one in _chances(each)])
    yield gauge(catalogue.COMPARED_PODS, [one for each in canaries for one in _pods(each)])


def _kpis(canary: Canary) -> Iterator[Labelled]:
    profile, name = canary.scheduler_name, canary.given.name
    for found in canary.comparison.findings:
        for version, value in ((name, found.canary), (STABLE, found.stable)):
            if value is not None:
                yield (profile, version, found.kpi), value


def _chances(canary: Canary) -> Iterator[Labelled]:
    for found in canary.comparison.findings:
        if found.p is not None:
            yield (canary.scheduler_name, canary.given.name, found.kpi), found.p


def _pods(canary: Canary) -> Iterator[Labelled]:
    pods = canary.comparison.pods
    yield (canary.scheduler_name, canary.given.name), float(pods.units(canary=True))
    yield (canary.scheduler_name, STABLE), float(pods.units(canary=False))
