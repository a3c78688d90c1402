"""GPURequest: what one pod requests of a node with GPUs, in the units of the device columns."""

from typing import Final, NamedTuple

WHOLE: Final = 1000
"""A whole device, in milli."""


class GPURequest(NamedTuple):
    """CPU and memory, and `gpus` devices of certain models with `milli` free on each.

    A share (`milli` below 1000) is of one device. Empty `models` allows any model. If the pod
    requests `gpu_memory` (MiB on each device), its milli depend on the device: see `on`.
    """

    cpu: int
    memory: int
    gpus: int = 0
    milli: int = 0
    models: frozenset[str] = frozenset()
    gpu_memory: int = 0

    @property
    def is_share(self) -> bool:
        return self.gpus == 1 and self.milli < WHOLE

    @property
    def size(self) -> int:
        """All its GPUs together, in milli."""
        return self.gpus * self.milli

    def on(self, device_memory: int) -> "GPURequest":
        """The request on devices with so many MiB; above a whole device if they have too little."""
        if not self.gpu_memory or not self.gpus:
            return self
        if device_memory <= 0:
            return self._replace(milli=WHOLE + 1, gpu_memory=0)
        needed = -(-WHOLE * self.gpu_memory // device_memory)
        return self._replace(milli=min(max(self.milli, needed), WHOLE + 1), gpu_memory=0)
