"""The stories whose outcomes are frozen, and how an outcome is written down.

`placed` are the bindings in the order in which they were made. `calls` are the calls of the API
server of the embedded cluster: verbs and paths, in order.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple
from unittest.mock import patch

from click.testing import CliRunner

from moorage.api.pod import Pod
from moorage.app import built_in_plugins
from moorage.app.profile_builder import build_profiles
from moorage.bench import throughput
from moorage.bench.workload_kinds import KINDS
from moorage.cli.main import main
from moorage.config.loader import default_configuration
from moorage.memory.memory_cluster import MemoryCluster
from moorage.simulate.pod_lifecycle import PodLifecycle
from moorage.watch.api_resources import PODS, Resource

ROOT: Final = Path(__file__).parents[2]
FROZEN: Final = Path(__file__).with_name("outcomes.json")
SEEDS: Final = tuple(range(10))
SHOWN: Final = 1
"""The seed that stands for all ten in every run of the tests."""
BENCH_NODES, BENCH_PODS = 40, 40


class Outcome(NamedTuple):
    """The lines that are hashed."""

    placed: list[str]
    calls: list[str]

    def hashes(self) -> list[str]:
        """One for the placements, and one for the calls if any was made."""
        return [_hash(lines) for lines in self if lines]


def _hash(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]


Story = Callable[[int], Outcome]


def _command(args: tuple[str, ...], seed: int) -> Outcome:
    """`moorage simulate` with these arguments, run in the root of the project."""
    found = Outcome([], [])
    paths = [str(ROOT / each) if (ROOT / each).exists() else each for each in args]
    with _noted(found):
        result = CliRunner().invoke(main, ["simulate", *paths, "--seed", str(seed)])
    assert result.exit_code == 0, result.output
    return found


@contextmanager
def _noted(found: Outcome) -> Iterator[None]:
    """Write down what is bound, and what the embedded API server is asked."""
    run = PodLifecycle.bound

    def bound(self: PodLifecycle, pod: Pod) -> None:
        found.placed.append(f"{pod.key} {pod.spec.node_name}")
        run(self, pod)

    with patch.object(PodLifecycle, "bound", bound):
        patches = [patch.object(MemoryCluster, verb, _calling(verb, found)) for verb in VERBS]
        for each in patches:
            each.start()
        try:
            yield
        finally:
            for each in patches:
                each.stop()


VERBS: Final = {
    "list_page": "list",
    "watch": "watch",
    "get": "get",
    "post": "create",
    "create": "create",
    "update": "update",
    "patch": "patch",
    "delete": "delete",
    "bind": "bind",
    "patch_pod_status": "patch status",
    "evict": "evict",
}


def _calling(method: str, found: Outcome) -> Callable[..., Any]:
    """The same method of the embedded cluster, which is written down."""
    real, verb = getattr(MemoryCluster, method), VERBS[method]

    def call(self: MemoryCluster, *args: Any, **named: Any) -> Any:
        found.calls.append(f"{verb} {_path(args)} {named.get('subresource', '')}".strip())
        if method == "bind":
            namespace, name, _, node = args[:4]
            found.placed.append(f"{namespace}/{name} {node}")
        return real(self, *args, **named)

    return call


def _path(args: tuple[Any, ...]) -> str:
    """The path of a call by its arguments; only a pod is meant without its resource."""
    if not isinstance(args[0], Resource):
        return f"{PODS.qualified}/{args[0]}/{args[1]}"
    resource, *rest = args
    if rest and isinstance(rest[0], dict):
        metadata = rest[0]["metadata"]
        name = metadata.get("name") or metadata.get("generateName")
        rest = [metadata.get("namespace", ""), name.partition(".")[0]]
    return "/".join([resource.qualified, *rest[:2]])


def _bench(kind: str, seed: int) -> Outcome:
    known = built_in_plugins.built_in()
    plugins = built_in_plugins.describe_plugins(known)
    profiles = build_profiles(default_configuration(plugins), known)
    bench = throughput.prepare(kind, BENCH_NODES, BENCH_PODS, profiles, seed)
    return Outcome(throughput.placements(bench), [])


def _given(folder: str, *more: str) -> tuple[str, ...]:
    """The arguments for an example with a cluster, workloads and a configuration."""
    at = f"examples/{folder}"
    return (f"{at}/cluster", f"{at}/workloads", "--config", f"{at}/scheduler.yaml", *more)


def _rule(folder: str, *given: str, plugin: str) -> tuple[str, ...]:
    """Those for one with a plugin in a file."""
    at = f"examples/{folder}"
    paths = [f"{at}/{each}" for each in given]
    return (*paths, "--config", f"{at}/scheduler.yaml", "--plugin", f"examples/{plugin}")


def _scenario(folder: str, config: str) -> tuple[str, ...]:
    at = f"examples/{folder}"
    return (f"{at}/scenario.yaml", "--config", f"{at}/{config}.yaml")


_EXAMPLES: Final = {
    "demo": _given("demo", "--plugin", "examples/demo/quiet_nodes.py"),
    **{
        name: _given(name)
        for name in (
            "ai-platform",
            "cost",
            "finance",
            "gangs",
            "latency",
            "mixed-workloads",
            "tenants",
        )
    },
    "dra": ("examples/dra/cluster", "examples/dra/workloads"),
    "kubernetes-podgroup": (
        "examples/gangs/cluster",
        "examples/gangs/kubernetes-podgroup",
        "--config",
        "deploy/base/scheduler/scheduler.yaml",
    ),
    "explain": ("examples/explain/cluster.yaml",),
    "choosing": (
        "examples/choosing/cluster.yaml",
        "examples/choosing/pods.yaml",
        "--config",
        "examples/choosing/framework-plugin/scheduler.yaml",
        "--plugin",
        "examples/choosing/rule.py",
    ),
    "custom-plugins": _rule(
        "custom-plugins", "cluster.yaml", plugin="custom-plugins/custom_plugins.py"
    ),
    "plugin-file": _rule("plugin-file", "example.yaml", plugin="plugin-file/tenant_zones.py"),
    "multi-cloud": (
        "examples/multi-cloud/cluster.yaml",
        "examples/multi-cloud/prices.yaml",
        "examples/multi-cloud/workloads.yaml",
        "--config",
        "examples/multi-cloud/scheduler.yaml",
    ),
    "scenario gpu, devices only": _scenario("gpu", "devices-only"),
    "scenario gpu, packing": _scenario("gpu", "gpu-packing"),
    "scenario packing, default": _scenario("simulation/packing", "kube-default"),
    "scenario packing, most allocated": _scenario("simulation/packing", "most-allocated"),
    "scenario packing, cost": _scenario("simulation/packing", "cost-optimization"),
    "scenario storm, any node": _scenario("simulation/spot-storm", "any-node"),
    "scenario storm, avoid spot": _scenario("simulation/spot-storm", "avoid-spot"),
}

STORIES: Final[dict[str, Story]] = {
    **{name: partial(_command, args) for name, args in _EXAMPLES.items()},
    **{f"bench {kind}": partial(_bench, kind) for kind in KINDS},
}


def frozen() -> dict[str, dict[str, list[str]]]:
    """The hashes of each story, by seed."""
    found: dict[str, dict[str, list[str]]] = json.loads(FROZEN.read_text())
    return found
