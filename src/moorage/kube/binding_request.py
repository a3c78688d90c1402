"""POSTs a pod's Binding so that it takes effect exactly once, even if the answer is lost.

1. Ask. Success is success; a refusal that is not about the pod's state is an error, unless an
   answer was lost before.
2. Otherwise look at the pod: for as long as it takes until the server shows it, because a pod that
   may be bound must not be scheduled again. Credentials that have expired meanwhile, or roles that
   are not loaded yet, tell nothing of the pod. Where that takes long, `told` hears why.
3. On the node we asked for: bound, whoever's answer was lost. On another, or another pod: an error.
4. Not bound: a conflict is an error; anything else is tried again, on the same node, because the
   first request may still arrive, and then both say the same.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from moorage.watch.api_errors import (
    ApiError,
    Conflict,
    Forbidden,
    ServerError,
    TooManyRequests,
    Unauthorized,
)
from moorage.watch.api_server import Raw

RETRY_DELAYS: Final = (0.1, 0.4)
"""Seconds before the second try and the third."""
GET_POD_DELAYS: Final = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Seconds between reads of the pod; the last one is repeated for ever."""
UNTOLD: Final = (ServerError, TooManyRequests, Unauthorized, Forbidden)
"""Temporary errors, which do not tell where a pod is."""

PostBinding = Callable[[], Awaitable[object]]
GetPod = Callable[[], Awaitable[Raw]]
Sleep = Callable[[float], Awaitable[None]]
Told = Callable[[ApiError], None]


async def bind_exactly_once(
    ask: PostBinding,
    look: GetPod,
    uid: str,
    node: str,
    sleep: Sleep,
    told: Told = lambda error: None,
) -> None:
    """Bind the pod to the node; return when it is bound."""
    in_doubt = False
    for delay in (*RETRY_DELAYS, None):
        try:
            await ask()
            return
        except ApiError as error:
            in_doubt = in_doubt or isinstance(error, (Conflict, ServerError))
            if in_doubt and await _is_bound(look, uid, node, sleep, told):
                return
            if not isinstance(error, ServerError) or delay is None:
                raise
        await sleep(delay)


async def _is_bound(look: GetPod, uid: str, node: str, sleep: Sleep, told: Told) -> bool:
    pod = await _get_pod(look, sleep, told)
    found = str(pod["metadata"].get("uid"))
    if found != uid:
        raise Conflict(f"the pod is another one by now: its uid is {found}, not {uid}")
    assigned = str(pod.get("spec", {}).get("nodeName") or "")
    if assigned and assigned != node:
        raise Conflict(f"the pod is already assigned to node {assigned!r}")
    return assigned == node


async def _get_pod(look: GetPod, sleep: Sleep, told: Told) -> Raw:
    looked = 0
    while True:
        try:
            return await look()
        except UNTOLD as error:
            if looked == len(GET_POD_DELAYS):
                told(error)
            delay = GET_POD_DELAYS[min(looked, len(GET_POD_DELAYS) - 1)]
            looked += 1
            await sleep(max(delay, error.retry_after))
