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
    """One configuration; `features` maps the class of a feature to its settings."""

    generation: int
    digest: str
    profiles: Mapping[str, Profile]
    backoff: Backoff
    extending: Extending | None = None
    """The extenders, if they differ from those of the version before."""
    features: Mapping[type[Any], Any] = {}
    about: KubeObject | None = None
    """The object that events about the configuration refer to; None keeps the previous one."""
