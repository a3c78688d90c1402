"""Stack dumps and CPU profiles of the running process."""

import asyncio
import signal
import traceback
from collections import Counter
from types import FrameType
from typing import Final

from moorage.serve.loop_watchdog import thread_stacks

MOST_SECONDS: Final = 60.0
DEFAULT_SECONDS: Final = 10.0
EVERY_SECONDS: Final = 0.01
DEEPEST: Final = 100


def dump_stacks() -> str:
    """The stacks of all threads and of all tasks of the event loop."""
    parts = thread_stacks()
    for task in sorted(asyncio.all_tasks(), key=lambda task: task.get_name()):
        frames = task.get_stack(limit=DEEPEST)
        where = "".join(traceback.format_list(_summary(frames)))
        parts.append(f"task {task.get_name()}\n{where}")
    return "\n".join(parts)


class ProfileRunning(Exception):
    """Another profile is being taken."""


async def cpu_profile(seconds: float) -> str:
    """CPU time by stack: lines `outer;...;inner count`, the input of flame graphs.

    A signal interrupts this thread, the main one, after every hundredth of a second of CPU time.
    """
    if signal.getsignal(signal.SIGPROF) not in (signal.SIG_DFL, signal.SIG_IGN):
        raise ProfileRunning("a profile is being taken: ask again when it is done")
    counts: Counter[str] = Counter()

    def look(number: int, frame: FrameType | None) -> None:
        counts[_collapsed(frame)] += 1

    signal.signal(signal.SIGPROF, look)
    signal.setitimer(signal.ITIMER_PROF, EVERY_SECONDS, EVERY_SECONDS)
    try:
        await asyncio.sleep(min(max(seconds, 0.0), MOST_SECONDS))
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        # not SIG_DFL: a signal that is on its way already would end the process
        signal.signal(signal.SIGPROF, signal.SIG_IGN)
    return "".join(f"{stack} {count}\n" for stack, count in counts.most_common())


def _summary(frames: list[FrameType]) -> list[traceback.FrameSummary]:
    return list(traceback.StackSummary.extract((frame, frame.f_lineno) for frame in frames))


def _collapsed(frame: FrameType | None) -> str:
    names: list[str] = []
    while frame is not None and len(names) < DEEPEST:
        module = frame.f_globals.get("__name__", "?")
        names.append(f"{module}.{frame.f_code.co_qualname}")
        frame = frame.f_back
    return ";".join(reversed(names))
