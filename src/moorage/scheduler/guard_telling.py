"""That a custom plugin was switched off, or works again: said in the log, and in an event."""

import logging
from typing import TYPE_CHECKING

from moorage.api.pod import Pod
from moorage.guard.telling import PluginSwitchedOff, SwitchedOff, SwitchedOn
from moorage.observe.logs import say

if TYPE_CHECKING:
    from moorage.scheduler.scheduler import Scheduler


class GuardTelling:
    """Hears of breakers; the event is about the pod whose attempt was the last to fail."""

    def __init__(self, scheduler: "Scheduler") -> None:
        self._desk = scheduler

    def __call__(self, change: SwitchedOff | SwitchedOn) -> None:
        if isinstance(change, SwitchedOn):
            say(logging.INFO, change.message, plugin=change.plugin, profile=change.profile)
            return
        pod = change.pod
        about = pod.key if isinstance(pod, Pod) else ""
        self._desk.observers.failed(about, "", PluginSwitchedOff(change.message))
        if isinstance(pod, Pod):
            self._desk.reporting.event(
                pod, "Warning", "PluginSwitchedOff", "Scheduling", change.message
            )
