"""POSTs a pod's Binding so that it takes effect exactly once, even if the answer is lost.

1. POST the Binding. Success ends it. A refusal that is not about the pod's state is an error,
   unless an answer was lost before.
2. Otherwise read the pod, for as long as it takes until the server returns it, because a pod that
   may be bound must not be scheduled again. Expired credentials, or roles that are not loaded yet,
   say nothing about the pod.
3. If the pod is on the requested node, it is bound, even if the answer was lost. If it is on
   another node, or is another pod, that is an error.
4. If it is not bound, a conflict is an error. After any other error the Binding is posted again, to
   the same node: the first request may still arrive, and then both do the same.
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


async def bind_exactly_once(
    ask: PostBinding, look: GetPod, uid: str, node: str, sleep: Sleep
) -> None:
    """Bind the pod to the node; return when it is bound."""
    in_doubt = False
    for delay in (*RETRY_DELAYS, None):
        try:
            await ask()
            return
        except ApiError as error:
            in_doubt = in_doubt or isinstance(error, (Conflict, ServerError))
            if in_doubt and await _is_bound(look, uid, node, sleep):
                return
            if not isinstance(error, ServerError) or delay is None:
                raise
        await sleep(delay)


async def _is_bound(look: GetPod, uid: str, node: str, sleep: Sleep) -> bool:
    pod = await _get_pod(look, sleep)
    found = str(pod["metadata"].get("uid"))
    if found != uid:
        raise Conflict(f"the pod is another one by now: its uid is {found}, not {uid}")
    assigned = str(pod.get("spec", {}).get("nodeName") or "")
    if assigned and assigned != node:
        raise Conflict(f"the pod is already assigned to node {assigned!r}")
    return assigned == node


async def _get_pod(look: GetPod, sleep: Sleep) -> Raw:
    delays = iter(GET_POD_DELAYS)
    while True:
        try:
            return await look()
        except UNTOLD as error:
            await sleep(max(next(delays, GET_POD_DELAYS[-1]), error.retry_after))
