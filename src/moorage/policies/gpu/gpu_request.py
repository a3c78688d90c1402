"""GPURequest: what one pod asks of a node with GPUs, in the units of the device columns."""

from typing import Final, NamedTuple

WHOLE: Final = 1000
"""A whole device, in milli."""


class GPURequest(NamedTuple):
    """So much CPU and memory, and `gpus` devices with `milli` free on each, of some models.

    A share (`milli` below 1000) is of one device. No models: any will do.
    """

    cpu: int
    memory: int
    gpus: int = 0
    milli: int = 0
    models: frozenset[str] = frozenset()

    @property
    def is_share(self) -> bool:
        return self.gpus == 1 and self.milli < WHOLE

    @property
    def size(self) -> int:
        """All its GPUs together, in milli."""
        return self.gpus * self.milli
