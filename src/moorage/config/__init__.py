"""KubeSchedulerConfiguration and SchedulingPolicy: types, defaults, checks.

The law of this package:

- It is pure: text or plain values in, frozen structs out. Files are read by the command line.
- What kube-scheduler would run, Moorage runs: the same plugins, in the same order, with the same
  weights and arguments. Where its defaults differ, docs/configuration.md says so.
- It imports no plugin; plugins are described to it (`PluginInfo`).
- Everything wrong with a document is reported at once, each with its place, in upstream's words
  where upstream has words. Whatever is ignored, moved or converted is said in a warning.
"""

from moorage.config.durations import Duration
from moorage.config.field_errors import ConfigError, Problem
from moorage.config.loader import Loaded, load
from moorage.config.plugin_catalogue import PluginInfo
from moorage.config.resolved_profile import Enabled, ResolvedProfile, resolve
from moorage.config.types import Extender, Profile, SchedulerConfiguration

__all__ = [
    "ConfigError",
    "Duration",
    "Enabled",
    "Extender",
    "Loaded",
    "PluginInfo",
    "Problem",
    "Profile",
    "ResolvedProfile",
    "SchedulerConfiguration",
    "load",
    "resolve",
]
