"""Checks of custom plugins' answers; each error says what is wrong and how to fix it."""

import math
import operator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.framework.verdicts import (
    MAX_SCORE,
    MIN_SCORE,
    SKIP,
    Code,
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
    "PreBindPreFlight": ((), "None or SKIP"),
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
    if isinstance(answer, Rejection):
        check_rejection(answer)
    elif isinstance(answer, NodeNames) and not _are(answer.names, frozenset | set, str):
        raise WrongAnswer(
            f"answered {_shown(answer)}: names are a set of texts, as in "
            'NodeNames(frozenset({"node-1"}))'
        )
    elif isinstance(answer, Nominated):
        _check_nominated(answer)


def check_rejection(answer: Rejection) -> None:
    """A refusal, with a code and texts for reasons."""
    if not _are(answer.reasons, tuple, str):
        raise WrongAnswer(
            f"answered a Rejection with the reasons {answer.reasons!r}: reasons are texts"
        )
    if not isinstance(answer.code, Code):
        raise WrongAnswer(
            f"answered a Rejection with the code {answer.code!r}: make it by unschedulable(...), "
            "unresolvable(...) or pending(...)"
        )


def _check_nominated(answer: Nominated) -> None:
    if not _are((answer.node, answer.message), tuple, str):
        raise WrongAnswer(f"answered {_shown(answer)}: node and message are texts")
    if not _are(answer.victims, tuple | list, Pod):
        raise WrongAnswer(
            f"nominated a node with the victims {_shown(answer.victims)}: victims are Pods, some "
            "of cycle.pods_on(node)"
        )
    if not _are(answer.cleared, tuple | list, str):
        raise WrongAnswer(
            f"nominated a node with {_shown(answer.cleared)} cleared: these are uids of pods"
        )


def _are(given: Any, whole: Any, kind: type) -> bool:
    return isinstance(given, whole) and all(isinstance(each, kind) for each in given)


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


def check_returns_nothing(answer: Any, out: str) -> None:
    """A vector hook writes into an array it is given; what it returns would be lost."""
    if answer is not None:
        raise WrongAnswer(
            f"returned {_shown(answer)}: write into `{out}` instead, as in `{out}[:] = ...`"
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
