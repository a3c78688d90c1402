"""A look inside the running process: where everything stands, and where the time goes."""

import asyncio
import sys
import threading
import time
import traceback
from collections import Counter
from types import FrameType
from typing import Final

MOST_SECONDS: Final = 60.0
DEFAULT_SECONDS: Final = 10.0
EVERY_SECONDS: Final = 0.01
DEEPEST: Final = 100


def stacks() -> str:
    """Where every thread and every task of the event loop stands."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    parts = [
        f"thread {names.get(ident, ident)}\n{''.join(traceback.format_stack(frame))}"
        for ident, frame in sys._current_frames().items()
    ]
    for task in sorted(asyncio.all_tasks(), key=lambda task: task.get_name()):
        frames = task.get_stack(limit=DEEPEST)
        where = "".join(traceback.format_list(_summary(frames)))
        parts.append(f"task {task.get_name()}\n{where}")
    return "\n".join(parts)


async def profile(seconds: float) -> str:
    """Where this thread spends its time: `outer;...;inner count` lines, as flame graphs want them.

    A second thread looks a hundred times a second; the loop goes on as before.
    """
    ident = threading.get_ident()
    counts = await asyncio.to_thread(_sample, ident, min(max(seconds, 0.0), MOST_SECONDS))
    return "".join(f"{stack} {count}\n" for stack, count in counts.most_common())


def _summary(frames: list[FrameType]) -> list[traceback.FrameSummary]:
    return list(
        traceback.StackSummary.extract((frame, frame.f_lineno) for frame in frames),
    )


def _sample(ident: int, seconds: float) -> Counter[str]:
    counts: Counter[str] = Counter()
    end = time.monotonic() + seconds
    while True:
        frame = sys._current_frames().get(ident)
        if frame is not None:
            counts[_collapsed(frame)] += 1
        if time.monotonic() >= end:
            return counts
        time.sleep(EVERY_SECONDS)


def _collapsed(frame: FrameType | None) -> str:
    names: list[str] = []
    while frame is not None and len(names) < DEEPEST:
        module = frame.f_globals.get("__name__", "?")
        names.append(f"{module}.{frame.f_code.co_qualname}")
        frame = frame.f_back
    return ";".join(reversed(names))
