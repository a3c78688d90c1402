"""Answers the extender verb bind: Reserve, PreBind, Bind and PostBind of the plugins.

If the profile has no Bind plugin, DefaultBinder is used.
"""

from moorage.api.decode import decode_as
from moorage.api.name_validation import dns_label_faults, subdomain_faults
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.bind import binder
from moorage.extender import protocol
from moorage.extender.verb_handler import VerbHandler
from moorage.framework.cycle import Cycle
from moorage.framework.plugin_errors import as_plugin_error
from moorage.framework.verdicts import PluginError, SchedulingError
from moorage.plugins.default_binder import DefaultBinder
from moorage.watch.api_errors import ApiError
from moorage.watch.api_resources import PODS
from moorage.watch.api_server import ApiServer


class BindHandler:
    """Binds pods, and assumes them on their nodes until the watch shows them there."""

    def __init__(self, answering: VerbHandler, server: ApiServer) -> None:
        self._answering = answering
        self._server = server
        profile = answering.profile
        if not profile.bind:
            profile.bind = [(DefaultBinder.plugin_name(), DefaultBinder())]

    async def bind(self, args: protocol.ExtenderBindingArgs) -> protocol.ExtenderBindingResult:
        """Bind a pod; the result has the error if that fails."""
        try:
            await self._bind(args)
        except (SchedulingError, ApiError) as error:
            return protocol.ExtenderBindingResult(error=str(error))
        return protocol.ExtenderBindingResult()

    async def _bind(self, args: protocol.ExtenderBindingArgs) -> None:
        if dns_label_faults(args.pod_namespace) or subdomain_faults(args.pod_name):
            raise SchedulingError(f"{args.pod_namespace}/{args.pod_name} is not the name of a pod")
        raw = await self._server.get(PODS, args.pod_namespace, args.pod_name)
        pod = decode_as(raw, Pod)
        if args.pod_uid and pod.uid != args.pod_uid:
            raise SchedulingError(f"pod {pod.key} is another one by now: its uid is {pod.uid}")
        row = self._answering.cache.table.row_of.get(args.node)
        if row is None:
            raise SchedulingError(f"node {args.node} is not known to the extender")
        cycle, node = self._answering.cycle(pod), self._answering.cache.table.node(row)
        self._assume(cycle, node)
        try:
            self._reserve(cycle, node)
            refused = await binder.bind_pod(self._answering.profile, cycle, node)
            if refused is not None:
                raise SchedulingError(f"{refused.plugin}: {refused.message}")
        except BaseException:
            self._undo(cycle, node)
            raise
        binder.run_post_bind(self._answering.profile, cycle, node)

    def _assume(self, cycle: Cycle, node: Node) -> None:
        cache, uid = self._answering.cache, cycle.incoming.uid
        if cache.node_of(uid) is None:
            cache.assume(cycle.incoming, node.name)

    def _reserve(self, cycle: Cycle, node: Node) -> None:
        for name, plugin in self._answering.profile.reserve:
            with as_plugin_error(name, "Reserve"):
                answer = plugin.reserve(cycle, cycle.pod, node)
            if answer is not None:
                raise SchedulingError(f"{name}: {answer.message}")

    def _undo(self, cycle: Cycle, node: Node) -> None:
        for name, plugin in self._answering.profile.reserve[::-1]:
            try:
                with as_plugin_error(name, "Unreserve"):
                    plugin.unreserve(cycle, cycle.pod, node)
            except PluginError:
                continue  # the other plugins must unreserve all the same
        cache = self._answering.cache
        if cycle.incoming.uid in cache.assumed:
            cache.forget(cycle.incoming)
