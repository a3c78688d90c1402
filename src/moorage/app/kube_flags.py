"""kube-scheduler's flags that a configuration file could set, and what they change.

As in kube-scheduler, leader election flags always count, while deprecated flags count only without
a configuration file. Without any configuration the scheduler is kube-scheduler's default: profile
`default-scheduler`, Lease `kube-system/kube-scheduler`. With another `--scheduler-name` it has a
Lease of its own, so that it can lead beside kube-scheduler.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from moorage.app.config_text import ConfigText
from moorage.config import validation
from moorage.config.durations import Duration
from moorage.config.field_errors import Report
from moorage.config.lease_config import DEFAULT_SCHEDULER, KUBE_LEASE
from moorage.config.types import (
    API_VERSION,
    KIND,
    PluginConfig,
    Profile,
    SchedulerConfiguration,
)
from moorage.devices.feature_gates import GATES
from moorage.kube.kubeconfig import Cluster, SelectedContext, User

COMMAND_LINE: Final = "the command line"
DEVICES: Final = "DynamicResources"
"""The plugin whose features have gates."""
BATCHING: Final = "OpportunisticBatching"
"""The feature gate of batching, which is on by default."""

_ELECTION: Final = {
    "leader_elect": "leader_elect",
    "leader_elect_lease_duration": "lease_duration",
    "leader_elect_renew_deadline": "renew_deadline",
    "leader_elect_retry_period": "retry_period",
    "leader_elect_resource_lock": "resource_lock",
    "leader_elect_resource_name": "resource_name",
    "leader_elect_resource_namespace": "resource_namespace",
}
_CONNECTION: Final = {
    "kube_api_qps": "qps",
    "kube_api_burst": "burst",
    "kube_api_content_type": "content_type",
}
_WHOLE: Final = {
    "profiling": "enable_profiling",
    "contention_profiling": "enable_contention_profiling",
    "percentage_of_nodes_to_score": "percentage_of_nodes_to_score",
}
INSTEAD: Final[Mapping[str, str]] = {
    "kube_api_qps": "clientConnection.qps",
    "kube_api_burst": "clientConnection.burst",
    "kube_api_content_type": "clientConnection.contentType",
    "profiling": "enableProfiling",
    "contention_profiling": "enableContentionProfiling",
    "percentage_of_nodes_to_score": "percentageOfNodesToScore",
    "scheduler_name": "profiles[].schedulerName",
}
"""Deprecated flags, each with the setting that replaces it in a configuration file."""


class ConfigFlags(msgspec.Struct, frozen=True):
    """Flags that replace settings; None if a flag was not given."""

    leader_elect: bool | None = None
    leader_elect_lease_duration: Duration | None = None
    leader_elect_renew_deadline: Duration | None = None
    leader_elect_retry_period: Duration | None = None
    leader_elect_resource_lock: str | None = None
    leader_elect_resource_name: str | None = None
    leader_elect_resource_namespace: str | None = None
    kube_api_qps: float | None = None
    kube_api_burst: int | None = None
    kube_api_content_type: str | None = None
    profiling: bool | None = None
    contention_profiling: bool | None = None
    percentage_of_nodes_to_score: int | None = None
    scheduler_name: str | None = None
    feature_gates: dict[str, bool] | None = None

    @property
    def batching(self) -> bool:
        """Whether decisions may use kept results of equal pods (`moorage.batching`)."""
        return (self.feature_gates or {}).get(BATCHING, True)

    def default_text(self) -> ConfigText:
        """The configuration if none is given: kube-scheduler's default."""
        name = self.scheduler_name or DEFAULT_SCHEDULER
        lease = {"resourceName": KUBE_LEASE} if name == DEFAULT_SCHEDULER else {}
        return ConfigText(
            COMMAND_LINE,
            {
                "apiVersion": API_VERSION,
                "kind": KIND,
                "profiles": [{"schedulerName": name}],
                "leaderElection": lease,
            },
        )

    def override(self, given: SchedulerConfiguration, *, file: bool) -> SchedulerConfiguration:
        """The configuration, changed by the flags that count; `file`: it comes from a file."""
        election = self._given(_ELECTION)
        changed: dict[str, Any] = {}
        if election:
            changed["leader_election"] = _replaced(given.leader_election, election)
        if not file:
            connection = self._given(_CONNECTION)
            changed |= self._given(_WHOLE)
            changed["client_connection"] = _replaced(given.client_connection, connection)
        gates = {gate: on for gate, on in (self.feature_gates or {}).items() if gate in GATES}
        if gates:
            changed["profiles"] = tuple(_with_gates(each, gates) for each in given.profiles)
        if not changed:
            return given
        made: SchedulerConfiguration = _replaced(given, changed)
        report = Report(COMMAND_LINE)
        validation.validate_configuration(made, report)
        report.raise_problems()
        return made

    def warnings(self, configured: SchedulerConfiguration, *, file: bool) -> list[str]:
        """The warnings about these flags."""
        found = []
        for name, setting in INSTEAD.items():
            if getattr(self, name) is None:
                continue
            flag = f"--{name.replace('_', '-')}"
            effect = "ignored, because a configuration is given" if file else "deprecated"
            found.append(f"{flag} is {effect}: set {setting} in --config")
        names = {profile.scheduler_name for profile in configured.profiles}
        if file and self.scheduler_name and self.scheduler_name not in names:
            has = ", ".join(sorted(names))
            found.append(f"--scheduler-name {self.scheduler_name}: no profile has it, but: {has}")
        return found

    def _given(self, fields: Mapping[str, str]) -> dict[str, Any]:
        found = {setting: getattr(self, flag) for flag, setting in fields.items()}
        return {setting: value for setting, value in found.items() if value is not None}


def _with_gates(profile: Profile, gates: Mapping[str, bool]) -> Profile:
    """The profile with these feature gates added to the arguments of DynamicResources."""
    configs = tuple(
        PluginConfig(each.name, {**each.args, "featureGates": _merged(each.args, gates)})
        if each.name == DEVICES
        else each
        for each in profile.plugin_config
    )
    return msgspec.structs.replace(profile, plugin_config=configs)


def _merged(args: Mapping[str, Any], gates: Mapping[str, bool]) -> dict[str, bool]:
    return {**(args.get("featureGates") or {}), **gates}


def at_master(selected: SelectedContext | None, master: str) -> SelectedContext:
    """The same credentials, or none, at the API server that `--master` names."""
    url = master if "://" in master else f"http://{master}"
    if selected is None:
        return SelectedContext("", "", "", Cluster(server=url), User(), "--master")
    cluster = msgspec.structs.replace(selected.cluster, server=url)
    return msgspec.structs.replace(selected, cluster=cluster)


def _replaced(struct: Any, changed: dict[str, Any]) -> Any:
    return msgspec.structs.replace(struct, **changed) if changed else struct
