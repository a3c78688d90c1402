"""An attempt that asks extenders, while everything else goes on.

The attempt and the event loop take turns (`moorage.extender.asking`), and so changes are heard
while an extender is asked. They are put off until the attempt is over: it sees the cluster as it
was when it began, as kube-scheduler's snapshot has it, and no row moves under it. Only what a
failed binding gives back is given back at once; that makes room, and never takes it.
"""

from collections.abc import Callable

from moorage.extender.asking import Turns


class Deciding:
    """Runs attempts, one at a time; without turns to take, an attempt is a plain call."""

    def __init__(self, turns: Turns | None = None) -> None:
        self._turns = turns
        self._under_way = False
        self._put_off: list[Callable[[], None]] = []

    def take_turns(self, turns: Turns | None) -> None:
        """Other extenders are to be asked, or none; not to be called while an attempt is made."""
        self._turns = turns

    async def run(self, attempt: Callable[[], bool]) -> bool:
        """One attempt, and then whatever was put off meanwhile."""
        if self._turns is None:
            return attempt()
        self._under_way = True
        try:
            return await self._turns.run(attempt)
        finally:
            self._under_way = False
            put_off, self._put_off = self._put_off, []
            for work in put_off:
                work()

    def later(self, work: Callable[[], None]) -> None:
        """Do this now, or as soon as the attempt under way is over."""
        if self._under_way:
            self._put_off.append(work)
        else:
            work()
