"""KubeSchedulerConfiguration and SchedulingPolicy: types, defaults, checks.

    loader                    from a document to a completed, checked configuration
    yaml_documents            YAML and JSON read strictly, with line numbers
    plain_yaml                the plain YAML that most manifests are, read fast
    plain_blocks              the same, reading equal blocks once
    strict_decoder            plain values into structs; every field that does not fit is reported
    field_errors              errors and warnings about fields: path, line, wording
    conversion                older versions of the configuration, and misplaced settings, to v1
    config_defaults           defaults of the configuration as a whole
    validation                checks of a completed configuration
    yaml_dump                 a configuration as YAML, with everything written out

    types                     kubescheduler.config.k8s.io/v1
    moorage_configuration     MoorageConfiguration: settings that kube-scheduler does not have
    logging_policy            what the log says of pods
    scheduling_policy         SchedulingPolicy: weights, affinity, tolerations for a class of pods
    canary_limits             how much worse a canary may do before it is rolled back
    profile_canary            ProfileCanary: a new version of a profile for some pods
    standin_config            standInFor of a profile: defaults and checks
    lease_config              the Lease that a configuration means, and who may hold it in deploy/
    durations                 durations as Go writes them

    default_plugins           kube-scheduler's default plugins, and merging a profile into them
    plugin_catalogue          the plugins that a configuration may name
    plugin_validator          plugins that are unknown, removed, named twice or at a wrong point
    plugin_config             pluginConfig decoded, completed and validated
    plugin_args               the arguments of kube-scheduler's own plugins
    plugin_args_validation    checks of them
    node_affinity_validation  checks of node affinity in arguments and policies
    required_points           plugins that need their own PreFilter or PreScore
    resolved_profile          the plugins at each point, their order, weights and arguments

Law of the package:

- It is pure: text or plain values in, frozen structs out. Files are read by the command line.
- Moorage runs what kube-scheduler would run: the same plugins, in the same order, with the same
  weights and arguments. docs/configuration.md lists the defaults that differ.
- It imports no plugin; plugins are described to it (`PluginInfo`).
- All errors of a document are reported at once, each with its place, in upstream's words if there
  are any. Everything that is ignored, moved or converted is reported as a warning.
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
