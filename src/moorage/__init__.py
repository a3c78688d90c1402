"""Moorage: a Kubernetes scheduler that people extend in Python.

    __main__    `python -m moorage`
    api         Kubernetes objects as frozen structs
    app         composition: the one place that knows every class
    batching    decisions about pods that are like others
    bench       throughput of the decision itself
    bind        acting on decisions
    cache       what we believe of the cluster: nodes and pods as columns
    cli         the command line
    clock       clocks, real and virtual
    config      KubeSchedulerConfiguration and SchedulingPolicy
    cycle       one attempt: where does this pod go?
    dashboard   the page and its views as JSON, read when somebody looks
    devices     devices and claims: what is offered, taken, and to be had on a node
    explain     why, why not, and what would help
    extender    kube-scheduler's extender protocol, both ways
    feeds       measurements that no watch delivers
    framework   the contract between the engine and its plugins
    gang        groups of pods, scheduled together or not at all
    garbage     when Python collects garbage
    guard       guards around custom plugins
    kernels     passes over node columns in C
    kpi         what a run was worth
    kube        the client of a real API server
    memory      the embedded cluster
    observe     metrics, logs, decision records
    plugin_api  the public names
    plugins     kube-scheduler's plugins
    policies    Moorage's own plugins
    preemption  room made by evicting pods of lower priority
    queue       who waits
    recording   everything decisions depend on, kept and played back
    rollout     canaries and stand-ins
    scaffold    a new plugin with everything around it
    scheduler   the loop, its ports and features
    serve       the HTTP server of a running scheduler
    shadow      what Moorage would have decided beside another scheduler
    simulate    the scheduler on an embedded cluster, in virtual time
    tenancy     quotas and fair shares of tenants
    testing     for tests of plugins
    tls_trust   which certificates are trusted, wherever TLS is spoken
    watch       what a scheduler needs of an API server

What a plugin author imports is here. A plugin is a class whose bases are the extension points it
implements and whose fields are its arguments:

    class QuietNodes(Filter, frozen=True):
        label: str = "example.com/noise"

        def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
            return unresolvable("node(s) were too loud") if node.labels.get(self.label) else None

The names are those of `moorage.plugin_api`, imported when the first of them is used: a command
that needs no engine, as `moorage --help`, does not import one.

Law of the package: outer packages know inner ones, never the reverse; `lint-imports` checks it, and
docs/architecture.md draws it. What is not named in `plugin_api` may change without notice.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moorage.plugin_api import *  # noqa: F403  the names have one list, there

__version__ = "0.1.0"
KUBE_VERSION = "v1.37"
"""The kube-scheduler whose decisions these are."""


def __getattr__(name: str) -> Any:
    if name == "__all__" or not (name.startswith("__") or find_spec(f"{__name__}.{name}")):
        found = import_module("moorage.plugin_api")
        if name == "__all__" or name in found.__all__:
            return getattr(found, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})
