"""DefaultBinder: binds the pod through the API server's binding subresource."""

from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.framework.cycle import Cycle
from moorage.framework.points import Bind


class DefaultBinder(Bind, frozen=True):
    async def bind(self, cycle: Cycle, pod: Pod, node: Node) -> None:
        if cycle.client is None:
            raise LookupError("there is no API server to bind to")
        await cycle.client.bind(pod.namespace, pod.name, pod.uid, node.name, cycle.annotations)
