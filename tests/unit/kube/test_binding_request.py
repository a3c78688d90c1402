"""Every way a binding can go, by script: what is asked, what is answered, how it ends."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from moorage.kube import binding_request
from moorage.watch.api_errors import (
    ApiError,
    Conflict,
    Forbidden,
    NotFound,
    ServerError,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)

UNREACHABLE = Unreachable("gone")
BROKEN = ServerError("broken")
CONFLICT = Conflict("taken")


def pod(node: str = "", uid: str = "u") -> dict[str, Any]:
    return {"metadata": {"uid": uid}, "spec": {"nodeName": node} if node else {}}


class Script:
    """Answers in order; None is a success."""

    def __init__(
        self, asks: Sequence[ApiError | None], looks: Sequence[ApiError | dict[str, Any]]
    ) -> None:
        self.asked = self.looked = 0
        self.slept: list[float] = []
        self.told: list[ApiError] = []
        self._asks, self._looks = iter(asks), iter(looks)

    async def ask(self) -> None:
        self.asked += 1
        answer = next(self._asks)
        if answer is not None:
            raise answer

    async def look(self) -> dict[str, Any]:
        self.looked += 1
        answer = next(self._looks)
        if isinstance(answer, ApiError):
            raise answer
        return answer

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def bind(self) -> None:
        asyncio.run(
            binding_request.bind_exactly_once(
                self.ask, self.look, "u", "n1", self.sleep, self.told.append
            )
        )


@pytest.mark.parametrize(
    ("asks", "looks"),
    [
        pytest.param([None], [], id="a yes is a yes, and nobody looks"),
        pytest.param([UNREACHABLE], [pod("n1")], id="an answer lost after success is a success"),
        pytest.param([BROKEN], [pod("n1")], id="an error after success is a success"),
        pytest.param([CONFLICT], [pod("n1")], id="a conflict with ourselves is a success"),
        pytest.param([UNREACHABLE, None], [pod()], id="a request that was lost is made again"),
        pytest.param([BROKEN, BROKEN, None], [pod(), pod()], id="three times"),
        pytest.param(
            [UNREACHABLE, CONFLICT],
            [pod(), pod("n1")],
            id="the first request arrives after the look, and the second finds it done",
        ),
        pytest.param(
            [UNREACHABLE],
            [UNREACHABLE, BROKEN, TooManyRequests("later"), *([BROKEN] * 20), pod("n1")],
            id="while nobody answers, it keeps looking",
        ),
        pytest.param(
            [UNREACHABLE],
            [Unauthorized("the token has expired"), Forbidden("no role yet"), pod("n1")],
            id="expired credentials and missing roles tell nothing of the pod",
        ),
        pytest.param(
            [UNREACHABLE, Unauthorized("the token has expired")],
            [pod(), pod("n1")],
            id="the first request arrives late, and the second is refused",
        ),
    ],
)
def test_the_pod_is_bound(
    asks: list[ApiError | None], looks: list[ApiError | dict[str, Any]]
) -> None:
    script = Script(asks, looks)
    script.bind()

    assert (script.asked, script.looked) == (len(asks), len(looks))


@pytest.mark.parametrize(
    ("asks", "looks", "want"),
    [
        pytest.param([Forbidden("no")], [], Forbidden, id="a refusal is final"),
        pytest.param([NotFound("no")], [], NotFound, id="a pod that is gone is gone"),
        pytest.param([TooManyRequests("no")], [], TooManyRequests, id="later is not now"),
        pytest.param([CONFLICT], [pod()], Conflict, id="a conflict about an unbound pod is final"),
        pytest.param([UNREACHABLE], [NotFound("no")], NotFound, id="gone when looked at"),
        pytest.param([UNREACHABLE], [pod("n2")], Conflict, id="bound elsewhere by another"),
        pytest.param([UNREACHABLE], [pod("n1", "v")], Conflict, id="another pod of that name"),
        pytest.param(
            [UNREACHABLE, Forbidden("no")], [pod()] * 2, Forbidden, id="refused, and looked at"
        ),
        pytest.param([BROKEN] * 3, [pod()] * 3, ServerError, id="three failures are enough"),
    ],
)
def test_the_pod_is_not_bound(
    asks: list[ApiError | None], looks: list[ApiError | dict[str, Any]], want: type[ApiError]
) -> None:
    script = Script(asks, looks)
    with pytest.raises(want):
        script.bind()

    assert (script.asked, script.looked) == (len(asks), len(looks))


def test_looks_grow_rarer_and_heed_the_server() -> None:
    script = Script([UNREACHABLE], [TooManyRequests("", retry_after=3.0), *[BROKEN] * 7, pod("n1")])
    script.bind()

    assert script.slept == [3.0, 0.2, 0.5, 1.0, 2.0, 5.0, 5.0, 5.0]


@pytest.mark.parametrize(
    ("looks", "times"),
    [
        pytest.param(6, 0, id="a server that is away for seconds is nothing to tell of"),
        pytest.param(20, 1, id="a role that lacks a right is told, once for a pod"),
    ],
)
def test_a_pod_that_cannot_be_looked_up_for_long_is_told(looks: int, times: int) -> None:
    """It waits, assumed on its node, for as long as that takes."""
    forbidden = Forbidden("cannot get resource pods")
    script = Script([UNREACHABLE], [*[forbidden] * looks, pod("n1")])
    script.bind()

    assert script.told == [forbidden] * times
