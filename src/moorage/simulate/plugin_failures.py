"""Plugin failures of a run that are the error of no attempt: QueueSort, PostBind, hints."""

from collections.abc import Iterable

from moorage.cycle.profile import Profile
from moorage.framework.verdicts import PluginError
from moorage.guard.guards import Guards


def quiet_failures(profiles: Iterable[Profile], said: Iterable[str]) -> list[str]:
    """The last failure of each plugin at each extension point that `said` does not mention."""
    known = "\n".join(said)
    found: dict[str, None] = {}
    for profile in profiles:
        for guard in profile.guards if isinstance(profile.guards, Guards) else ():
            for point, detail in guard.last_failures.items():
                if str(PluginError(guard.plugin, point, "")) not in known:
                    found[str(PluginError(guard.plugin, point, detail))] = None
    return list(found)
