"""Runs of the embedded cluster for tests: manifests in, the finished simulation out."""

from collections.abc import Sequence
from typing import Any

from moorage.app import built_in_plugins
from moorage.config.loader import load
from moorage.config.moorage_configuration import DEFAULT_GUARD, PluginGuard
from moorage.framework.plugin import Plugin
from moorage.simulate.manifest_files import Manifest
from moorage.simulate.simulation import Simulation, pods_of, simulate

Raw = dict[str, Any]


def run(
    *given: Any,
    plugin: type[Plugin] | None = None,
    guard: PluginGuard = DEFAULT_GUARD,
    seed: int = 0,
    observers: Sequence[Any] = (),
) -> Simulation:
    """Schedule objects, raw or of the testing builders, with one plugin more, if any."""
    known = built_in_plugins.built_in()
    enabled = []
    if plugin is not None:
        known.add(plugin)
        enabled = [{"name": plugin.__name__}]
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"multiPoint": {"enabled": enabled}}}],
    }
    configuration = load(document, known=built_in_plugins.describe_plugins(known)).configuration
    return simulate(
        [manifest(each) for each in given],
        configuration,
        known,
        seed,
        guard=guard,
        observers=observers,
    )


def manifest(given: Any) -> Manifest:
    if isinstance(given, dict):
        return Manifest(given, "test", 1)
    return Manifest({"apiVersion": "v1", "kind": type(given.build()).__name__, **given.raw}, "t", 1)


def places(simulation: Simulation) -> dict[str, str]:
    """The node of each pod; empty while it waits."""
    return {pod.name: pod.spec.node_name for pod in pods_of(simulation)}
