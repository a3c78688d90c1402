"""The outcome of an attempt, as it is recorded and compared, with draws and errors."""

from moorage.cycle.attempt import Decision, Unschedulable
from moorage.framework.cycle import Random
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


class NotedDraws:
    """A generator whose draws are recorded; one serves all attempts, which never overlap."""

    __slots__ = ("_random", "drawn")

    def __init__(self) -> None:
        self._random: Random | None = None
        self.drawn: tuple[int, ...] = ()

    def begin(self, random: Random) -> None:
        """Draw from `random` from now on, and forget earlier draws."""
        self._random, self.drawn = random, ()

    def randrange(self, stop: int, /) -> int:
        assert self._random is not None
        found = self._random.randrange(stop)
        self.drawn += (stop, found)
        return found


class GivenDraws:
    """Repeats recorded draws; if another draw is requested, it returns 0 and sets `differs`."""

    __slots__ = ("_at", "_drawn", "differs")

    def __init__(self, drawn: tuple[int, ...]) -> None:
        self._drawn = drawn
        self._at = 0
        self.differs = False

    def randrange(self, stop: int, /) -> int:
        at, self._at = self._at, self._at + 2
        if self._drawn[at : at + 1] != (stop,):
            self.differs = True
            return 0
        return self._drawn[at + 1]
