"""Reports each reload: to observers, as an event, and at `/configz`."""

from typing import Any, Final

from moorage.api.meta import KubeObject
from moorage.app.config_text import ConfigText
from moorage.bind.event_recorder import EventType
from moorage.observe.records import Outcome, Reloaded
from moorage.rollout.rollback import Canaries
from moorage.scheduler.scheduler import Scheduler
from moorage.serve.configz import ActiveConfiguration

REFUSED: Final = "generation {} stays in force: {}"
IN_FORCE: Final = "generation {} ({}) is in force"


class ReloadReporter:
    """Reports the outcome of each configuration that was read.

    Events are about the ConfigMap that was changed or, for files, about the `lease`.
    """

    def __init__(
        self, scheduler: Scheduler, in_force: ActiveConfiguration, lease: KubeObject
    ) -> None:
        self._scheduler = scheduler
        self._canaries = scheduler.feature(Canaries)
        self._in_force = in_force
        self._lease = lease
        self._refused: Reloaded | None = None
        self.restart: tuple[str, ...] = ()
        """Settings that have changed, and need a restart to take effect."""
        facts = in_force.facts
        facts["canaries"] = self._canaries.shown
        facts["needsRestart"] = lambda: self.restart
        facts["refused"] = self._shown_refusal

    def about(self, changed: list[ConfigText]) -> KubeObject:
        """The object that an event refers to."""
        return next((text.about for text in changed if text.about is not None), self._lease)

    def tell(
        self,
        outcome: Outcome,
        changed: list[ConfigText],
        message: str = "",
        warnings: tuple[str, ...] = (),
    ) -> Outcome:
        """Report that a configuration took over, was refused, or was unchanged."""
        in_force = self._in_force
        told = Reloaded(
            outcome,
            in_force.generation,
            in_force.digest,
            ", ".join(text.source for text in changed),
            message,
            self.restart if outcome == "success" else (),
            warnings,
            self._canaries.percents(),
        )
        self._refused = told if outcome == "refused" else None
        self._scheduler.observers.reloaded(told)
        if outcome != "unchanged" and self._scheduler.active.is_set():
            self._record(told, self.about(changed))
        return outcome

    def _record(self, told: Reloaded, about: KubeObject) -> None:
        refused = told.outcome == "refused"
        if refused:
            note = REFUSED.format(told.generation, told.message)
        else:
            note = IN_FORCE.format(told.generation, told.digest)
            if told.restart:
                note += f"; these need a restart: {', '.join(told.restart)}"
        kind: EventType = "Warning" if refused or told.restart else "Normal"
        reason = "ConfigRefused" if refused else "ConfigReloaded"
        controller = self._scheduler.in_force.controller
        self._scheduler.recorder.record(controller, about, kind, reason, "Reloading", note)

    def _shown_refusal(self) -> dict[str, Any] | None:
        if self._refused is None:
            return None
        return {"source": self._refused.source, "message": self._refused.message}
