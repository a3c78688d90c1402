"""The binding cycle of one pod: wait on Permit, PreBind, Bind, PostBind."""

from moorage.api.node import Node
from moorage.bind.permits import WaitingPod, WaitingPods
from moorage.clock import Clock
from moorage.cycle.profile import Profile
from moorage.framework.cycle import Cycle
from moorage.framework.extenders import ExtenderError
from moorage.framework.plugin_errors import as_plugin_error
from moorage.framework.verdicts import SKIP, Rejection, SchedulingError


async def wait_for_permits(
    cycle: Cycle, node: Node, waits: dict[str, float], waiting: WaitingPods, clock: Clock
) -> Rejection | None:
    """Hold the pod until every plugin that asked it to wait has let go; None: it may be bound."""
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


def will_prepare(profile: Profile, cycle: Cycle, node: Node) -> bool:
    """Whether any PreBind plugin has something to do for the pod."""
    for name, plugin in profile.pre_bind:
        with as_plugin_error(name, "PreBindPreFlight"):
            if plugin.pre_bind_pre_flight(cycle, cycle.pod, node) is not SKIP:
                return True
    return False


async def bind_pod(profile: Profile, cycle: Cycle, node: Node) -> Rejection | None:
    """Bind an assumed pod. None: it is bound. Raises SchedulingError when something failed."""
    refused = await run_pre_bind(profile, cycle, node)
    if refused is None:
        await run_bind(profile, cycle, node)
    return refused


async def run_pre_bind(profile: Profile, cycle: Cycle, node: Node) -> Rejection | None:
    """PreBind: make ready what the pod needs on its node. None: it may be bound."""
    cycle.timer.step("PreBind")
    for name, plugin in cycle.timer.each(profile.pre_bind):
        with as_plugin_error(name, "PreBind"):
            if plugin.pre_bind_pre_flight(cycle, cycle.pod, node) is SKIP:
                continue
            answer = await plugin.pre_bind(cycle, cycle.pod, node)
        if answer is not None:
            cycle.timer.step("", answer.code.value)
            return answer.by(name)
    cycle.timer.step("")
    return None


async def run_bind(profile: Profile, cycle: Cycle, node: Node) -> None:
    """Bind: tell the API server. Raises SchedulingError when that failed."""
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
    """Let the first extender bind that does so and has a say about the pod."""
    for extender in cycle.extenders:
        if extender.binds and extender.is_interested(cycle.pod):
            try:
                await extender.bind(cycle.pod, node.name)
            except ExtenderError as error:
                if not extender.ignorable:
                    raise
                cycle.extenders.skipped(extender, "bind", error)
            else:
                return True
    return False


def run_post_bind(profile: Profile, cycle: Cycle, node: Node) -> None:
    """Tell PostBind plugins; the first that raises is named in the error."""
    cycle.timer.step("PostBind")
    for name, plugin in cycle.timer.each(profile.post_bind):
        with as_plugin_error(name, "PostBind"):
            plugin.post_bind(cycle, cycle.pod, node)
    cycle.timer.step("")
