"""The PreEnqueue plugins, which keep pods out of the active queue and the backoff queue."""

from collections.abc import Mapping, Sequence

from moorage.api.pod import Pod
from moorage.framework.plugin_errors import OnPluginError, plugin_error
from moorage.framework.points import PreEnqueue
from moorage.framework.queued_pod import QueuedPod
from moorage.queue.transitions import QueueError

PreEnqueueEntry = tuple[str, PreEnqueue]


class PreEnqueuePlugins:
    """The PreEnqueue plugins of every profile, in configured order."""

    def __init__(
        self, plugins: Mapping[str, Sequence[PreEnqueueEntry]], report: OnPluginError
    ) -> None:
        self._report = report
        self.replace(plugins)

    def replace(self, plugins: Mapping[str, Sequence[PreEnqueueEntry]]) -> None:
        """Use these plugins from now on."""
        self._plugins = {scheduler: tuple(entries) for scheduler, entries in plugins.items()}

    def serves(self, scheduler: str) -> bool:
        """Whether a profile has this name."""
        return scheduler in self._plugins

    def check_profile(self, pod: Pod) -> None:
        """Raise QueueError if no profile has the pod's schedulerName."""
        if pod.spec.scheduler_name not in self._plugins:
            names = ", ".join(sorted(self._plugins))
            raise QueueError(
                f"pod {pod.key} asks for scheduler {pod.spec.scheduler_name!r}, "
                f"but the profiles are {names}"
            )

    def refuse(self, queued: QueuedPod) -> bool:
        """Ask the plugins until one refuses; the one that gated the pod last time goes first.

        A refusal is stored in the pod (`gated_by`, `gated_reason`), and the plugin is added to
        those that refused it. A plugin that raises is reported, and counts as refusing.
        """
        pod = queued.info.pod
        for name, plugin in self._ordered(pod, queued.gated_by):
            reason = self._ask(name, plugin, pod)
            if reason is not None:
                queued.gated_by, queued.gated_reason = name, reason
                queued.unschedulable_plugins |= {name}
                return True
        queued.gated_by = queued.gated_reason = ""
        return False

    def still_refuses(self, queued: QueuedPod) -> bool:
        """Whether the plugin that gates a pod still does; `gated_reason` is brought up to date."""
        pod = queued.info.pod
        for name, plugin in self._plugins[pod.spec.scheduler_name]:
            if name == queued.gated_by:
                reason = self._ask(name, plugin, pod)
                queued.gated_reason = queued.gated_reason if reason is None else reason
                return reason is not None
        return False

    def _ordered(self, pod: Pod, first: str) -> Sequence[PreEnqueueEntry]:
        plugins = self._plugins[pod.spec.scheduler_name]
        return sorted(plugins, key=lambda entry: entry[0] != first) if first else plugins

    def _ask(self, name: str, plugin: PreEnqueue, pod: Pod) -> str | None:
        try:
            rejection = plugin.pre_enqueue(pod)
        except Exception as error:  # whatever a plugin raises must not stop the queue
            found = plugin_error(name, "PreEnqueue", error)
            self._report(pod.key, found)
            return str(found)
        return None if rejection is None else rejection.message
