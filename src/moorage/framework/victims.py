"""Who may be evicted for a pod, where a plugin knows better than by priority."""

from collections.abc import Callable, Sequence
from typing import Final

from moorage.cache.podinfo import PodInfo

EVICTABLE: Final = "evictable"
"""Where `cycle.state` has the rule that a PreFilter plugin left there, if one did."""

Evictable = Callable[[Sequence[PodInfo]], list[PodInfo]]
"""Of the pods on a node, in the order they came, those that may be evicted, in that order. For pods
that are placed together it is asked once, of the pods on all nodes."""

TOGETHER: Final = "together"
"""Where `cycle.state` has the pods that are placed together with the cycle's own, it included."""

LEAVING: Final = "leaving"
"""Where `cycle.shared` has the uids of pods that are being evicted, whatever they look like yet."""
