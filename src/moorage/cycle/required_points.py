"""Plugins that fail, as in kube-scheduler, where their own PreFilter or PreScore is disabled.

In kube-scheduler some plugins filter or score with what they noted in PreFilter or PreScore, and
fail where that point is disabled. Moorage's could do without, and fail all the same: a profile
means the same here as there.
"""

from collections.abc import Collection
from typing import Final

NEEDS_PRE_FILTER: Final = frozenset(
    {
        "DynamicResources",
        "InterPodAffinity",
        "NodeDeclaredFeatures",
        "NodePorts",
        "NodeResourcesFit",
        "PodTopologySpread",
        "VolumeBinding",
        "VolumeRestrictions",
    }
)
SCORES_WITH_PRE_FILTER: Final = frozenset({"DynamicResources", "VolumeBinding"})
SCORES_WITH_PRE_SCORE: Final = frozenset(
    {"InterPodAffinity", "PodTopologySpread", "TaintToleration"}
)

POINT_DISABLED: Final = "its {} is disabled, and without it there is nothing to go by: enable both"


def find_unscorable(
    *, pre_filter: Collection[str], pre_score: Collection[str], score: Collection[str]
) -> tuple[str, str] | None:
    """The first plugin that cannot score, and the point it lacks; None where all can."""
    for name in pre_score:
        if name == "VolumeBinding" and name not in pre_filter:
            return name, "PreFilter"
    for name in score:
        if name in SCORES_WITH_PRE_SCORE and name not in pre_score:
            return name, "PreScore"
        if name in SCORES_WITH_PRE_FILTER and name not in pre_filter:
            return name, "PreFilter"
    return None
