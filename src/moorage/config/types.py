"""KubeSchedulerConfiguration in types: kubescheduler.config.k8s.io/v1, in kube's field order.

The defaults of these structs are the defaults of the settings. Defaults that depend on other
settings are filled in by `moorage.config.config_defaults`.
"""

from typing import Annotated, Any, Final

import msgspec

from moorage.config.durations import Duration

Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]

API_VERSION: Final = "kubescheduler.config.k8s.io/v1"
KIND: Final = "KubeSchedulerConfiguration"
ALL: Final = "*"
"""In a list of disabled plugins: all default plugins."""


class ConfigStruct(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The wire dialect of configuration: camelCase names, unknown fields refused."""


class PluginRef(ConfigStruct, frozen=True, omit_defaults=True):
    """A plugin by name; the weight counts at score and placementScore, where 0 stands for 1."""

    name: str = ""
    weight: Int32 = 0


class PluginSet(ConfigStruct, frozen=True):
    """The plugins enabled and disabled at an extension point."""

    enabled: tuple[PluginRef, ...] = ()
    disabled: tuple[PluginRef, ...] = ()


class Plugins(ConfigStruct, frozen=True):
    """The plugins of a profile, by extension point."""

    pre_enqueue: PluginSet = PluginSet()
    queue_sort: PluginSet = PluginSet()
    pre_filter: PluginSet = PluginSet()
    filter: PluginSet = PluginSet()
    post_filter: PluginSet = PluginSet()
    pre_score: PluginSet = PluginSet()
    score: PluginSet = PluginSet()
    reserve: PluginSet = PluginSet()
    permit: PluginSet = PluginSet()
    pre_bind: PluginSet = PluginSet()
    bind: PluginSet = PluginSet()
    post_bind: PluginSet = PluginSet()
    multi_point: PluginSet = PluginSet()
    placement_generate: PluginSet = PluginSet()
    placement_score: PluginSet = PluginSet()
    pod_group_post_filter: PluginSet = PluginSet()

    def at(self, point: str) -> PluginSet:
        """Return the plugin set of an extension point, or of `multiPoint`, by its config name."""
        found: PluginSet = getattr(self, _ATTRIBUTES[point])
        return found

    def replace(self, **sets: PluginSet) -> "Plugins":
        """Return a copy with other plugin sets, given by config name."""
        return msgspec.structs.replace(self, **{_ATTRIBUTES[at]: new for at, new in sets.items()})


_ATTRIBUTES: Final = {f.encode_name: f.name for f in msgspec.structs.fields(Plugins)}
MULTI_POINT: Final = "multiPoint"
POINTS: Final = tuple(name for name in _ATTRIBUTES if name != MULTI_POINT)
"""Extension points by their config names."""
WEIGHTED: Final = frozenset({"score", "placementScore"})
"""The points where a plugin's weight counts."""


class PluginConfig(ConfigStruct, frozen=True):
    """The arguments of a plugin."""

    name: str = ""
    args: dict[str, Any] = msgspec.field(default_factory=dict)


class StandIn(ConfigStruct, frozen=True):
    """Moorage's own: another scheduler whose pods a profile takes while its Lease is expired."""

    scheduler_name: str = ""
    lease_name: str = ""
    lease_namespace: str = ""
    without_lease: str = "Leave"


class Profile(ConfigStruct, frozen=True):
    """How the pods of one schedulerName are scheduled."""

    scheduler_name: str = ""
    percentage_of_nodes_to_score: Int32 | None = None
    plugins: Plugins = Plugins()
    plugin_config: tuple[PluginConfig, ...] = ()
    stand_in_for: tuple[StandIn, ...] = ()


class LeaderElection(ConfigStruct, frozen=True):
    """How replicas agree on the one that schedules."""

    leader_elect: bool = True
    lease_duration: Duration = Duration.of_seconds(15)
    renew_deadline: Duration = Duration.of_seconds(10)
    retry_period: Duration = Duration.of_seconds(2)
    resource_lock: str = "leases"
    resource_name: str = ""
    resource_namespace: str = ""


class ClientConnection(ConfigStruct, frozen=True):
    """How to talk to the API server."""

    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = "application/vnd.kubernetes.protobuf"
    qps: float = 50.0
    burst: Int32 = 100


class ExtenderTLSConfig(ConfigStruct, frozen=True):
    """Certificates for an extender; data takes precedence over files."""

    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: bytes = b""
    key_data: bytes = b""
    ca_data: bytes = b""


class ExtenderManagedResource(ConfigStruct, frozen=True):
    """An extended resource that an extender manages."""

    name: str = ""
    ignored_by_scheduler: bool = False


class Extender(ConfigStruct, frozen=True):
    """An HTTP service that takes part in decisions; a verb left empty is not called."""

    url_prefix: str = ""
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: Int64 = 0
    bind_verb: str = ""
    enable_https: bool = msgspec.field(default=False, name="enableHTTPS")
    tls_config: ExtenderTLSConfig | None = None
    http_timeout: Duration = Duration.of_seconds(5)
    node_cache_capable: bool = False
    managed_resources: tuple[ExtenderManagedResource, ...] = ()
    ignorable: bool = False


class SchedulerConfiguration(ConfigStruct, frozen=True):
    """The whole configuration of a scheduler."""

    api_version: str = API_VERSION
    kind: str = KIND
    parallelism: Int32 = 16
    leader_election: LeaderElection = LeaderElection()
    client_connection: ClientConnection = ClientConnection()
    enable_profiling: bool = True
    enable_contention_profiling: bool | None = None
    percentage_of_nodes_to_score: Int32 | None = None
    pod_initial_backoff_seconds: Int64 = 1
    pod_max_backoff_seconds: Int64 = 10
    profiles: tuple[Profile, ...] = ()
    extenders: tuple[Extender, ...] = ()
    delay_cache_until_active: bool = False
