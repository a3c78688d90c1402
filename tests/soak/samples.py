"""What a process holds: memory, asyncio tasks, sockets, file descriptors, threads."""

import asyncio
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import aiohttp

from tests.soak.trend import Trend, trend

PAGE: Final = os.sysconf("SC_PAGE_SIZE")
SLACK: Final = {"rss_mb": 20.0, "tasks": 25.0, "sockets": 8.0, "fds": 10.0, "threads": 4.0}
"""What may come and go with the load without being growth."""
EVENTS: Final = "moorage_events_{}_total"
COUNTED: Final = ("sent", "dropped")


class Sample(NamedTuple):
    """One look."""

    seconds: float
    rss_mb: float
    tasks: int
    sockets: int
    fds: int
    threads: int


class Sampler:
    """Looks at a process every few seconds; `port` is where it answers on loopback."""

    def __init__(self, pid: int, port: int, every: float) -> None:
        self._proc = Path(f"/proc/{pid}")
        self._stacks = f"http://127.0.0.1:{port}/debug/stacks"
        self._metrics = f"http://127.0.0.1:{port}/metrics"
        self._every = every
        self._began = time.monotonic()
        self.samples: list[Sample] = []

    async def run(self) -> None:
        timeout = aiohttp.ClientTimeout(total=30)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            while True:
                await asyncio.sleep(self._every)
                self.samples.append(await self._look(session))

    async def events(self) -> dict[str, int]:
        """How many events the process has sent, and dropped, so far."""
        async with aiohttp.ClientSession() as session, session.get(self._metrics) as answer:
            lines = [line.split() for line in (await answer.text()).splitlines()]
        told = {line[0]: line[1] for line in lines if len(line) == 2}
        return {f"events_{word}": int(float(told[EVENTS.format(word)])) for word in COUNTED}

    async def _look(self, session: aiohttp.ClientSession) -> Sample:
        async with session.get(self._stacks) as answer:
            answer.raise_for_status()
            text = await answer.text()
        links = [_link(each) for each in (self._proc / "fd").iterdir()]
        return Sample(
            seconds=time.monotonic() - self._began,
            rss_mb=int((self._proc / "statm").read_text().split()[1]) * PAGE / 2**20,
            tasks=sum(line.startswith("task ") for line in text.splitlines()),
            sockets=sum(link.startswith("socket:") for link in links),
            fds=len(links),
            threads=len(list((self._proc / "task").iterdir())),
        )


def trends(samples: Sequence[Sample]) -> dict[str, Trend]:
    """The trend of each series."""
    seconds = [sample.seconds for sample in samples]
    return {name: trend(seconds, [getattr(s, name) for s in samples]) for name in SLACK}


def growing(found: dict[str, Trend]) -> list[str]:
    """The series that grow."""
    return [name for name, line in found.items() if line.grows(SLACK[name])]


def _link(path: Path) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
