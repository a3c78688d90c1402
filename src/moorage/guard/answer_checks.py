"""Checks of custom plugins' answers; each error says what is wrong and how to fix it."""

import math
import operator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from moorage.api.node import Node
from moorage.framework.verdicts import (
    MAX_SCORE,
    MIN_SCORE,
    SKIP,
    NodeNames,
    Nominated,
    Rejection,
    Wait,
)

_RANGE: Final = f"{MIN_SCORE} to {MAX_SCORE}"
_INT64: Final = np.iinfo(np.int64)


class WrongAnswer(Exception):
    """An invalid answer; the text says why, and what to do."""


_ALLOWED: Final[dict[str, tuple[tuple[type, ...], str]]] = {
    "PreEnqueue": ((Rejection,), "None or a Rejection"),
    "PreFilter": ((Rejection, NodeNames), "None, SKIP, a Rejection or NodeNames"),
    "Filter": ((Rejection,), "None or a Rejection, as of unschedulable(...)"),
    "PostFilter": ((Rejection, Nominated), "None, a Rejection or Nominated"),
    "PodGroupPostFilter": ((Rejection,), "None or a Rejection"),
    "PreScore": ((Rejection,), "None, SKIP or a Rejection"),
    "Reserve": ((Rejection,), "None or a Rejection"),
    "Permit": ((Rejection, Wait), "None, a Rejection or Wait"),
    "PreBind": ((Rejection,), "None or a Rejection"),
    "Bind": ((), "None or SKIP"),
}
_SKIPPABLE: Final = frozenset({"PreFilter", "PreScore", "PreBindPreFlight", "Bind"})


def check_answer(point: str, answer: Any) -> None:
    """Raise WrongAnswer unless the hooks of this point may give this answer."""
    if answer is None or (answer is SKIP and point in _SKIPPABLE):
        return
    kinds, allowed = _ALLOWED.get(point, ((), "None"))
    if not isinstance(answer, kinds):
        raise WrongAnswer(f"answered {_shown(answer)}: answer {allowed}")
    if isinstance(answer, Rejection) and not all(isinstance(r, str) for r in answer.reasons):
        raise WrongAnswer(
            f"answered a Rejection with the reasons {answer.reasons!r}: reasons are texts"
        )


def check_score(given: Any, node: Node, normalizes: bool) -> int:
    """The score of one node as an int."""
    answer: int = given
    if type(answer) is not int:
        if not isinstance(answer, np.integer):
            raise WrongAnswer(f"scored node {node.name} {_shown(answer)}: {_score_remedy(answer)}")
        answer = operator.index(answer)
    if normalizes:
        if not _INT64.min <= answer <= _INT64.max:
            raise WrongAnswer(
                f"scored node {node.name} {answer}, beyond 64 bits: use smaller numbers"
            )
    elif not MIN_SCORE <= answer <= MAX_SCORE:
        raise WrongAnswer(f"scored node {node.name} {answer}: {_range_remedy()}")
    return answer


def check_scores(out: NDArray[np.int64], names: Any) -> None:
    """Raise WrongAnswer if final scores, of a vector hook or `normalize`, are out of range."""
    wrong = (out < MIN_SCORE) | (out > MAX_SCORE)
    if wrong.any():
        position = int(wrong.argmax())
        raise WrongAnswer(
            f"scored node {names(position)} {_written(out, position)}: {_range_remedy()}"
        )


def check_codes(out: NDArray[np.int32], names: Any) -> None:
    """Raise WrongAnswer if `filter_all` wrote a negative code."""
    wrong = out < 0
    if wrong.any():
        position = int(wrong.argmax())
        raise WrongAnswer(
            f"wrote the code {_written(out, position)} for node {names(position)}: write 0 where "
            "the node fits, and a positive code where it is refused"
        )


def check_returns_nothing(answer: Any) -> None:
    """Raise WrongAnswer if a vector hook returned something: it must write into `out`."""
    if answer is not None:
        raise WrongAnswer(
            f"returned {_shown(answer)}: write into `out` instead, as in `out[:] = ...`"
        )


def _written(out: NDArray[Any], position: int) -> str:
    value = int(out[position])
    if value == np.iinfo(out.dtype).min:
        return f"{value} (what becomes of NaN and of infinity in whole numbers)"
    return str(value)


def _shown(answer: Any) -> str:
    if isinstance(answer, np.ndarray):
        return f"an array of shape {answer.shape} and dtype {answer.dtype}"
    text = repr(answer)
    return f"{text[:77]}..." if len(text) > 80 else text


def _score_remedy(answer: Any) -> str:
    if isinstance(answer, float | np.floating):
        if math.isfinite(answer):
            return f"a score is a whole number, so answer round(...), {_RANGE}"
        return f"find out where that comes from (a division by zero?) and answer an int, {_RANGE}"
    return f"a score is an int, {_RANGE}"


def _range_remedy() -> str:
    return f"scores are {_RANGE}; clamp it, or bring scores into that range in `normalize`"
