"""Which plugins of a profile answer as an extender: those kube-scheduler does not have."""

from collections.abc import Collection

import msgspec

from moorage.config import default_plugins
from moorage.config.resolved_profile import ResolvedProfile
from moorage.cycle.profile import Profile


def is_out_of_tree(name: str) -> bool:
    """Whether kube-scheduler does not have the plugin."""
    return name not in default_plugins.POINTS_OF


def restrict_to_out_of_tree(
    resolved: ResolvedProfile, whole: Profile, more: Collection[str] = ()
) -> Profile:
    """The profile with the plugins that are not kube-scheduler's own, and those in `more`.

    The plugins are the same objects as in `whole`, and have the same `shared` state.
    """
    points = {
        point: tuple(e for e in enabled if is_out_of_tree(e.name) or e.name in more)
        for point, enabled in resolved.points.items()
    }
    chosen = msgspec.structs.replace(resolved, points=points)
    made = Profile(chosen, {name: whole.plugins[name] for name in chosen.plugins})
    made.shared = whole.shared
    return made


def served_verbs(profile: Profile) -> list[str]:
    """The verbs that a profile can answer."""
    found = []
    if profile.filter or profile.pre_filter:
        found += ["filter", "preempt"]
    if profile.score:
        found.append("prioritize")
    return found
