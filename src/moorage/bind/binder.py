"""The binding cycle of one pod: wait on Permit, PreBind, Bind, PostBind."""

import asyncio
from collections.abc import Sequence
from itertools import groupby

from moorage.api.node import Node
from moorage.bind.permits import WaitingPod, WaitingPods
from moorage.clock import Clock
from moorage.cycle.profile import Profile
from moorage.framework.cycle import Cycle
from moorage.framework.extenders import ExtenderError
from moorage.framework.plugin_errors import as_plugin_error
from moorage.framework.points import PreBind
from moorage.framework.verdicts import SKIP, Rejection, SchedulingError
from moorage.watch.api_errors import ApiError

Entry = tuple[str, PreBind]
"""A PreBind plugin and its name."""


async def wait_for_permits(
    cycle: Cycle, node: Node, waits: dict[str, float], waiting: WaitingPods, clock: Clock
) -> Rejection | None:
    """Hold the pod until every plugin it waits for allows it; None if it may be bound."""
    if not waits:
        return None
    pod = WaitingPod(cycle.pod, node.name, waits)
    waiting.add(pod)
    cycle.timer.step("WaitOnPermit")
    try:
        refused = await pod.wait(clock)
        cycle.timer.step("", "Success" if refused is None else refused.code.value)
        return refused
    finally:
        waiting.remove(cycle.pod.uid)


def pre_flight(profile: Profile, cycle: Cycle, node: Node) -> list[Entry]:
    """PreBindPreFlight: the PreBind plugins that have something to do for the pod."""
    return [entry for entry in profile.pre_bind if _has_work(cycle, node, *entry)]


async def bind_pod(profile: Profile, cycle: Cycle, node: Node) -> Rejection | None:
    """Bind an assumed pod. None: it is bound. Raises SchedulingError when something failed."""
    refused = await run_pre_bind(profile, cycle, node, pre_flight(profile, cycle, node))
    if refused is None:
        await run_bind(profile, cycle, node)
    return refused


async def run_pre_bind(
    profile: Profile, cycle: Cycle, node: Node, working: Sequence[Entry]
) -> Rejection | None:
    """PreBind: make ready what the pod needs on its node, by the plugins that are `working`. None:
    it may be bound."""
    cycle.timer.step("PreBind")
    refused = await _run_groups(profile, cycle, node, working) if working else None
    cycle.timer.step("", "Success" if refused is None else refused.code.value)
    return refused


def _has_work(cycle: Cycle, node: Node, name: str, plugin: PreBind) -> bool:
    with as_plugin_error(name, "PreBindPreFlight"):
        return plugin.pre_bind_pre_flight(cycle, cycle.pod, node) is not SKIP


async def _run_groups(
    profile: Profile, cycle: Cycle, node: Node, working: Sequence[Entry]
) -> Rejection | None:
    """Run groups of adjacent plugins with equal `allow_parallel`, one group after the other.

    As in kube-scheduler, plugins that have no work separate groups too.
    """
    for parallel, entries in groupby(profile.pre_bind, lambda entry: entry[1].allow_parallel):
        group = [entry for entry in entries if entry in working]
        together = parallel and len(group) > 1
        refused = await (_run_together if together else _run_in_turn)(cycle, node, group)
        if refused is not None:
            return refused
    return None


async def _run_in_turn(cycle: Cycle, node: Node, group: Sequence[Entry]) -> Rejection | None:
    for name, plugin in cycle.timer.each(group):
        answer = await _make_ready(cycle, node, name, plugin)
        if answer is not None:
            return answer
    return None


async def _run_together(cycle: Cycle, node: Node, group: Sequence[Entry]) -> Rejection | None:
    """Run plugins at the same time. The first failure or refusal cancels the others, and returns
    when they have ended."""
    tasks = [
        asyncio.create_task(
            _make_ready(cycle, node, name, plugin), name=f"prebind/{cycle.pod.key}/{name}"
        )
        for name, plugin in group
    ]
    try:
        for done in asyncio.as_completed(tasks):
            answer = await done
            if answer is not None:
                return answer
        return None
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _make_ready(cycle: Cycle, node: Node, name: str, plugin: PreBind) -> Rejection | None:
    with as_plugin_error(name, "PreBind"):
        answer = await plugin.pre_bind(cycle, cycle.pod, node)
    return None if answer is None else answer.by(name)


async def run_bind(profile: Profile, cycle: Cycle, node: Node) -> None:
    """Bind the pod through an extender or a Bind plugin; SchedulingError if that fails."""
    cycle.timer.step("Bind")
    if cycle.extenders and await _extender_binds(cycle, node):
        cycle.timer.step("")
        return
    for name, plugin in cycle.timer.each(profile.bind):
        with as_plugin_error(name, "Bind"):
            if await plugin.bind(cycle, cycle.pod, node) is not SKIP:
                cycle.timer.step("")
                return
    raise SchedulingError(f"no Bind plugin of profile {profile.scheduler_name!r} binds this pod")


async def _extender_binds(cycle: Cycle, node: Node) -> bool:
    """Let the first extender bind that binds and is interested in the pod; whether one did."""
    for extender in cycle.extenders:
        if extender.binds and extender.is_interested(cycle.pod):
            try:
                await _annotate(cycle)
                await extender.bind(cycle.pod, node.name)
            except ExtenderError as error:
                if not extender.ignorable:
                    raise
                cycle.extenders.skipped(extender, "bind", error)
            else:
                return True
    return False


async def _annotate(cycle: Cycle) -> None:
    """Write to the pod what its Binding cannot carry, because an extender makes that."""
    pod = cycle.pod
    if cycle.annotations and cycle.client is not None:
        patch = {"metadata": {"uid": pod.uid, "annotations": cycle.annotations}}
        try:
            await cycle.client.patch("pods", pod.namespace, pod.name, patch)
        except ApiError as error:
            raise SchedulingError(f"writing the pod's annotations: {error}") from error


def run_post_bind(profile: Profile, cycle: Cycle, node: Node) -> None:
    """Run the PostBind plugins; the first that raises ends it, and is named in the error."""
    cycle.timer.step("PostBind")
    for name, plugin in cycle.timer.each(profile.post_bind):
        with as_plugin_error(name, "PostBind"):
            plugin.post_bind(cycle, cycle.pod, node)
    cycle.timer.step("")
