"""What tells of strategies for as long as a process lasts."""

from collections.abc import Awaitable, Callable

from moorage.cli.run_process import Process
from moorage.observe.metrics import Metrics
from moorage.observe.strategies import Strategies


def service(metrics: Metrics) -> Callable[[Process], Awaitable[None]]:
    """A service that says how pods are placed where that is learnt, and tells `metrics`."""

    async def tell(process: Process) -> None:
        strategies = Strategies(lambda: process.scheduler.profiles)
        metrics.registry.register(strategies)
        await strategies.run(process.clock)

    return tell
