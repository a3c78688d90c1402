"""Version: a whole configuration, built and ready to be put in force."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from moorage.api.meta import KubeObject
from moorage.cycle.profile import Profile
from moorage.extender.async_bridge import DecisionThread
from moorage.framework.extenders import Extenders
from moorage.queue.backoff import Backoff


class Extending(NamedTuple):
    """Extenders, and how attempts that ask them take turns with everything else."""

    extenders: Extenders
    turns: DecisionThread | None


class Version(NamedTuple):
    """What one configuration brings; `features` has what it says to each, by its class."""

    generation: int
    digest: str
    profiles: Mapping[str, Profile]
    backoff: Backoff
    extending: Extending | None = None
    """The extenders, where they are not those of the version before."""
    features: Mapping[type[Any], Any] = {}
    about: KubeObject | None = None
    """What events about the configuration refer to; None: what they referred to before."""
