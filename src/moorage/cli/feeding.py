"""What feeds measurements to a process for as long as it lasts."""

from collections.abc import Awaitable, Callable

from moorage.cli.run_process import Process
from moorage.feeds import wiring
from moorage.observe.metrics import Metrics


def service(metrics: Metrics) -> Callable[[Process], Awaitable[None]]:
    """A service that reads what the plugins of the process ask for; its ages are in `metrics`."""

    async def feed(process: Process) -> None:
        feeds = wiring.feeds(process.scheduler)
        metrics.registry.register(feeds)
        await wiring.run(process.scheduler, feeds)

    return feed
