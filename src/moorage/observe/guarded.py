"""How custom plugins do, read off their guards when somebody looks."""

from collections.abc import Iterable, Iterator

from prometheus_client.core import Metric as Family

from moorage.framework.guarding import GuardedPlugin
from moorage.observe import catalogue
from moorage.observe.families import counter, gauge


def read(plugins: Iterable[GuardedPlugin]) -> Iterator[Family]:
    """Every metric about guarded plugins."""
    found = list(plugins)
    names = [(guard, (guard.plugin, guard.profile)) for guard in found]
    hooks = [
        ((guard.plugin, point, guard.profile), hook)
        for guard in found
        for point, hook in guard.hooks.items()
        if hook.calls
    ]
    failures = [
        ((guard.plugin, point, guard.profile, reason), count)
        for guard in found
        for (point, reason), count in guard.failures.items()
    ]
    yield gauge(catalogue.BREAKER_STATE, [(name, guard.state) for guard, name in names])
    yield counter(catalogue.BREAKER_TRIPS, [(name, guard.trips) for guard, name in names])
    yield counter(catalogue.GUARD_LEFT_OUT, [(name, guard.left_out) for guard, name in names])
    yield counter(catalogue.GUARD_FAILURES, failures)
    yield counter(catalogue.GUARD_CALLS, [(labels, hook.calls) for labels, hook in hooks])
    yield counter(catalogue.GUARD_SECONDS, [(labels, hook.seconds) for labels, hook in hooks])
