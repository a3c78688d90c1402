"""The outcome of an attempt, as it is recorded and compared, with errors."""

from moorage.cycle.attempt import Decision, Unschedulable
from moorage.framework.diagnosis import Diagnosis
from moorage.framework.verdicts import PluginError
from moorage.recording.entries import Failed, Outcome, Placed, Refused, Verdict

_LATE = "took longer than its deadline"


def outcome_of(decided: Decision | Unschedulable) -> Outcome:
    """The outcome of a decision."""
    if isinstance(decided, Decision):
        node, score, feasible, evaluated, _, parts, _ = decided
        return Placed(node, score, feasible, evaluated, parts)
    diagnosis, nominated = decided
    verdicts = _verdicts(diagnosis)
    if nominated is None:
        return Refused(verdicts, diagnosis.post_filter_message)
    victims = tuple(victim.uid for victim in nominated.victims)
    return Refused(verdicts, diagnosis.post_filter_message, nominated.node, victims)


def _verdicts(diagnosis: Diagnosis) -> tuple[Verdict, ...]:
    found = diagnosis.counts()
    return tuple(sorted((why.plugin, why.message, count) for why, count in found))


def failure_of(error: Exception) -> Failed:
    """The outcome of an attempt that ended with an error."""
    if isinstance(error, PluginError):
        return Failed(str(error), error.plugin, error.point, error.detail.startswith(_LATE))
    return Failed(f"{type(error).__name__}: {error}")
