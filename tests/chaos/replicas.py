"""The two replicas: killed, stopped, told to end, and started anew."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator
from pathlib import Path

from tests.chaos.line import Line
from tests.integration.harness import Replica, configuration
from tests.integration.making import Raw
from tests.integration.proxying import HttpProxy

RESTART_SECONDS = 0.5
END_SECONDS = 30.0
LOST = "leader election lost"


class Member:
    """One replica and its line; it is started anew when it has ended."""

    def __init__(self, name: str, home: Path, line: Line, proxy: HttpProxy, config: Raw) -> None:
        self.name, self.line = name, line
        self._home = home / name
        self._home.mkdir()
        self._config = config
        self._kubeconfig = proxy.kubeconfig(self._home)
        self._started = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self.logs: list[Path] = []
        self.bad_exits: list[str] = []
        self._ending = False
        self.start()

    def start(self) -> None:
        self._started += 1
        self.replica = Replica(
            self._home, f"{self.name}-{self._started}", self._config, self._kubeconfig
        )
        self.logs.append(self.replica.log)

    def strike(self, kind: str, seconds: float) -> None:
        """Begin a fault of the process; it is repaired after so many seconds."""
        task = asyncio.ensure_future(getattr(self, f"_{kind}")(seconds))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def repaired(self) -> None:
        """Return when every fault is over."""
        while self._tasks:
            await asyncio.gather(*self._tasks)

    async def _kill(self, seconds: float) -> None:
        await self._end(signal.SIGKILL, seconds)

    async def _terminate(self, seconds: float) -> None:
        await self._end(signal.SIGTERM, seconds)

    async def _end(self, number: signal.Signals, seconds: float) -> None:
        ended = self.replica
        if self._ending:
            return
        self._ending = True
        ended.send(signal.SIGCONT)
        ended.send(number)
        await asyncio.to_thread(ended.wait, END_SECONDS)
        if number is signal.SIGTERM:
            self._note_exit()
        await asyncio.sleep(seconds)
        self.start()
        self._ending = False

    async def tend(self) -> None:
        """Start the replica anew whenever it ends, as a kubelet does."""
        while True:
            await asyncio.sleep(RESTART_SECONDS)
            if not self._ending and self.replica.process.poll() is not None:
                self._note_exit()
                self.start()

    def _note_exit(self) -> None:
        """A replica ends cleanly when it is told to, and with 1 when it has lost its lease.

        Until the interpreter has come to our first line nobody but the kernel hears of a signal.
        """
        code, said = self.replica.process.returncode, self.replica.said
        if code == -signal.SIGTERM and not said:
            return
        if code and not (code == 1 and LOST in said):
            self.bad_exits.append(f"{self.replica.log.stem} ended with {code}")

    async def _stop(self, seconds: float) -> None:
        stopped = self.replica
        stopped.send(signal.SIGSTOP)
        await asyncio.sleep(seconds)
        if stopped.process.poll() is None:
            stopped.send(signal.SIGCONT)

    async def close(self) -> None:
        """End it for good, by a signal."""
        await self.repaired()
        self._ending = True
        self.replica.send(signal.SIGTERM)
        await asyncio.to_thread(self.replica.wait, END_SECONDS)
        self._note_exit()

    def discard(self) -> None:
        if self.replica.process.poll() is None:
            self.replica.process.kill()
        self.replica.process.wait()


@contextlib.asynccontextmanager
async def member(name: str, home: Path, line: Line, proxy: HttpProxy) -> AsyncIterator[Member]:
    """A replica behind its proxy, killed at the end unless it has ended."""
    async with proxy.serving():
        made = Member(name, home, line, proxy, configuration(**SETTINGS))
        tending = asyncio.ensure_future(made.tend())
        try:
            yield made
        finally:
            tending.cancel()
            made.discard()


SETTINGS: Raw = {
    "leaderElection": {
        "leaderElect": True,
        "resourceName": "moorage-chaos",
        "leaseDuration": "4s",
        "renewDeadline": "3s",
        "retryPeriod": "500ms",
    },
    "podMaxBackoffSeconds": 4,
    "profiles": [
        {
            "schedulerName": "moorage",
            "plugins": {"multiPoint": {"enabled": [{"name": "CapacityScheduling"}]}},
            "pluginConfig": [{"name": "GangScheduling", "args": {"incompleteAfterSeconds": 2}}],
        }
    ],
}
