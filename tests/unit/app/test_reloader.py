"""Reading again while a scheduler runs: what takes over, what is refused, and what is told."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from moorage.app.assembly import assemble
from moorage.app.config_sources import ConfigFiles, ConfigMapRef, ConfigMaps, ConfigSources
from moorage.app.plugin_files import PluginSet
from moorage.app.reloader import Reloader
from moorage.app.run_extenders import RunExtenders
from moorage.bind.event_recorder import lease_reference
from moorage.clock import VirtualClock, run_virtual
from moorage.extender.async_bridge import DecisionThread
from moorage.memory.memory_cluster import MemoryCluster
from moorage.observe.prometheus_metrics import Metrics
from moorage.observe.records import Attempt, Reloaded
from moorage.scheduler.scheduler import Scheduler
from moorage.serve.configz import ActiveConfiguration
from moorage.testing import NodeBuilder, PodBuilder, node, pod
from moorage.watch.api_resources import EVENTS, PODS, RESOURCES

Raw = dict[str, Any]
CONFIG_MAPS = RESOURCES["configmaps"]
OURS = "default-scheduler"
PLUGIN = """
from moorage import Cycle, Filter, Node, Pod, Rejection, unresolvable


class OnlyOn(Filter, frozen=True):
    node: str = "a"

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        return None if node.name == {name} else unresolvable("elsewhere")
"""


def config(to: str = "a", **settings: Any) -> Raw:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "schedulerName": OURS,
                "plugins": {"multiPoint": {"enabled": [{"name": "OnlyOn"}]}},
                "pluginConfig": [{"name": "OnlyOn", "args": {"node": to}}],
            }
        ],
        **settings,
    }


async def inline(work: Callable[[], Any], /) -> Any:
    return work()


class World:
    """A scheduler on an embedded cluster that reads files and a ConfigMap, in virtual time."""

    def __init__(self, folder: Path, *, config_map: Raw | None = None) -> None:
        self.clock = VirtualClock(1000.0)
        self.cluster = MemoryCluster(clock=self.clock, rng=random.Random(1))
        self.file, self.plugin = folder / "scheduler.yaml", folder / "only_on.py"
        self.plugin.write_text(PLUGIN.format(name="self.node"))
        self.write(config())
        self.told: list[Reloaded] = []
        self.attempts: list[Attempt] = []
        self.metrics = Metrics()
        self.refs = []
        if config_map is not None:
            self.refs = [ConfigMapRef("default", "rules")]
            raw = {"metadata": {"name": "rules", "namespace": "default"}, "data": config_map}
            self.cluster.add(CONFIG_MAPS, raw)
        self.scheduler: Scheduler
        self.reloader: Reloader
        self.in_force: ActiveConfiguration

    def write(self, raw: Raw | str) -> None:
        self.file.write_text(raw if isinstance(raw, str) else yaml.safe_dump(raw))

    async def edit(self, **data: Any) -> None:
        texts = {key: yaml.safe_dump(value) for key, value in data.items()}
        await self.cluster.patch(CONFIG_MAPS, "default", "rules", {"data": texts})

    def reloaded(self, reloaded: Reloaded) -> None:
        self.told.append(reloaded)

    def attempted(self, attempt: Attempt) -> None:
        self.attempts.append(attempt)

    def apply(self, *objects: NodeBuilder | PodBuilder) -> None:
        for obj in objects:
            kind = "Node" if isinstance(obj, NodeBuilder) else "Pod"
            self.cluster.apply({"apiVersion": "v1", "kind": kind, **obj.raw})

    def run(self, story: Callable[["World"], Awaitable[None]]) -> "World":
        async def main() -> None:
            plugins = PluginSet([str(self.plugin)])
            files = ConfigFiles({"--config": [str(self.file)]}, beside=plugins.files)
            sources = ConfigSources(files, ConfigMaps(self.refs), plugins)
            await sources.config_maps.fetch(self.cluster, self.clock, lambda *_: None)
            first = sources.prepare(sources.read(), 1)
            self.scheduler = assemble(
                self.cluster,
                first.version.profiles,
                clock=self.clock,
                rng=random.Random(0),
                observers=(self, self.metrics),
            )
            self.scheduler.install(first.version)
            self.extenders = RunExtenders(
                first.whole.configuration, self.clock, self.scheduler.observers
            )
            self.in_force = ActiveConfiguration(
                first.whole.configuration, digest=first.version.digest
            )
            self.reloader = Reloader(
                sources,
                self.scheduler,
                self.in_force,
                lease=lease_reference("kube-system", "moorage"),
                interval=1.0,
                rng=random.Random(0),
                extending=self.extenders.changed,
                aside=inline,
            )
            self.apply(node("a"), node("b"))
            tasks = [
                asyncio.ensure_future(self.scheduler.run()),
                asyncio.ensure_future(self.reloader.run()),
            ]
            await story(self)
            self.scheduler.queue.validate()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self.extenders.close()

        run_virtual(main(), self.clock)
        return self

    @property
    def outcomes(self) -> list[tuple[str, int]]:
        return [(told.outcome, told.generation) for told in self.told]

    def events(self) -> list[tuple[str, str, str]]:
        """Kind of the object, reason and note of each event about the configuration."""
        found = (
            self.cluster.read(EVENTS, e.namespace, e.name) for e in self.cluster.objects(EVENTS)
        )
        return [
            (event["regarding"]["kind"], event["reason"], event["note"])
            for event in found
            if event["action"] == "Reloading"
        ]

    def node_of(self, name: str) -> str | None:
        node: str | None = self.cluster.read(PODS, "default", name)["spec"].get("nodeName")
        return node


def test_a_file_that_changes_takes_over_once_it_holds_still(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.clock.sleep(3)
        assert world.told == []
        world.write(config("b"))
        await world.clock.sleep(1)
        assert world.told == []
        await world.clock.sleep(2)
        world.apply(pod("web"))
        await world.clock.sleep(1)

    seen = World(tmp_path).run(story)

    assert seen.outcomes == [("success", 2)]
    assert seen.node_of("web") == "b"
    assert seen.attempts[-1].generation == 2
    digest = seen.in_force.digest
    assert seen.events() == [("Lease", "ConfigReloaded", f"generation 2 ({digest}) is in force")]


def test_what_changed_while_the_process_started_takes_over_at_once(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        world.write(config("b"))  # before the reloader's task has run for the first time
        await world.clock.sleep(0.5)
        assert world.outcomes == [("success", 2)]

    World(tmp_path).run(story)


def test_a_bad_file_is_refused_and_the_last_good_one_stays(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        world.write(config("b", surprise=1))
        await world.clock.sleep(5)
        world.apply(pod("web"))
        await world.clock.sleep(1)
        shown = world.in_force.configz()["moorage"]
        assert shown["generation"] == 1
        assert "surprise: unknown field" in shown["refused"]["message"]
        world.write(config("b"))
        await world.clock.sleep(5)
        assert world.in_force.configz()["moorage"]["refused"] is None

    seen = World(tmp_path).run(story)

    assert seen.outcomes == [("refused", 1), ("success", 2)]
    assert seen.node_of("web") == "a"
    kind, reason, note = seen.events()[0]
    assert (kind, reason) == ("Lease", "ConfigRefused")
    assert note.startswith("generation 1 stays in force: ")
    assert f"{tmp_path}/scheduler.yaml" in note
    told = seen.metrics.render()[0].decode()
    assert 'moorage_config_reloads_total{result="refused"} 1.0' in told
    assert 'moorage_config_reloads_total{result="success"} 1.0' in told
    assert "moorage_config_generation 2.0" in told


def test_a_plugin_file_is_read_again(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        world.plugin.write_text(PLUGIN.format(name='"b"'))
        await world.clock.sleep(5)
        world.apply(pod("web"))
        await world.clock.sleep(1)
        world.plugin.write_text("import nothing_of_that_name")
        await world.clock.sleep(5)
        world.apply(pod("next"))
        await world.clock.sleep(1)

    seen = World(tmp_path).run(story)

    assert seen.outcomes == [("success", 2), ("refused", 2)]
    assert "does not import: line 1: ModuleNotFoundError" in seen.told[1].message
    assert (seen.node_of("web"), seen.node_of("next")) == ("b", "b")


def test_a_plugin_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    broken = PLUGIN.format(name="self.node") + "\n    def __post_init__(self):\n        1 / 0\n"

    async def story(world: World) -> None:
        world.plugin.write_text(broken)
        await world.clock.sleep(5)

    seen = World(tmp_path).run(story)

    assert seen.outcomes == [("refused", 1)]
    assert "division by zero" in seen.told[0].message


def test_an_order_in_which_pods_cannot_be_compared_loses_none_of_them(tmp_path: Path) -> None:
    sorting = """
from moorage import QueueSort, QueuedPod


class Broken(QueueSort, frozen=True):
    def sort_key(self, queued: QueuedPod) -> object:
        return object() if queued.info.pod.name == "one" else 1
"""

    async def story(world: World) -> None:
        world.scheduler.active.clear()
        await world.clock.sleep(1)
        world.apply(pod("one"), pod("two"))
        await world.clock.sleep(1)
        world.plugin.write_text(PLUGIN.format(name="self.node") + sorting)
        sort = {"enabled": [{"name": "Broken"}], "disabled": [{"name": "PrioritySort"}]}
        raw = config("b")
        raw["profiles"][0]["plugins"]["queueSort"] = sort
        world.write(raw)
        await world.clock.sleep(5)
        world.scheduler.active.set()
        world.scheduler.wake()
        await world.clock.sleep(5)

    seen = World(tmp_path).run(story)

    assert seen.outcomes == [("success", 2)]
    assert (seen.node_of("one"), seen.node_of("two")) == ("b", "b")


def test_sighup_reads_again_and_says_that_nothing_is_new(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.clock.sleep(1)
        world.reloader.again()
        await world.clock.sleep(1)
        world.write(f"# another word\n{yaml.safe_dump(config())}")
        await world.clock.sleep(5)

    seen = World(tmp_path).run(story)

    assert seen.outcomes == [("unchanged", 1), ("unchanged", 1)]
    assert seen.events() == []


def test_a_file_that_is_gone_is_refused_once(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        world.file.unlink()
        await world.clock.sleep(20)
        world.write(config("b"))
        await world.clock.sleep(5)

    seen = World(tmp_path).run(story)

    assert seen.outcomes == [("refused", 1), ("success", 2)]
    assert seen.told[0].message == f"--config {tmp_path}/scheduler.yaml: no such file"


def test_settings_that_need_a_restart_stay_and_are_named(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        world.write(config("b", leaderElection={"resourceName": "other"}))
        await world.clock.sleep(5)
        shown = world.in_force.configz()
        assert shown["moorage"]["needsRestart"] == ("leaderElection.resourceName",)
        assert shown["componentconfig"]["leaderElection"]["resourceName"] == "moorage"

    seen = World(tmp_path).run(story)

    assert seen.told[0].restart == ("leaderElection.resourceName",)
    (event,) = seen.events()
    assert event[2].endswith("; these need a restart: leaderElection.resourceName")


def test_an_edit_of_a_config_map_takes_effect_and_a_bad_one_is_told_there(tmp_path: Path) -> None:
    policy = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "SchedulingPolicy",
        "metadata": {"name": "default-policy"},
        "spec": {},
    }
    required = {
        "nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]}
        ]
    }
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": required}

    async def story(world: World) -> None:
        raw = config()
        raw["profiles"][0]["plugins"]["multiPoint"]["enabled"] = [{"name": "SchedulingPolicies"}]
        world.write(raw)
        await world.clock.sleep(5)
        world.told.clear()
        await world.edit(policy={**policy, "spec": {"nodeAffinity": affinity}})
        await world.clock.sleep(1)
        world.apply(pod("web"))
        await world.clock.sleep(1)
        await world.edit(policy={**policy, "spec": {"resourceWeights": {"cpu": 1000}}})
        await world.clock.sleep(1)

    seen = World(tmp_path, config_map={"policy": yaml.safe_dump(policy)}).run(story)

    assert seen.outcomes == [("success", 3), ("refused", 3)]
    assert seen.node_of("web") == "b"
    told = sorted((kind, reason) for kind, reason, _ in seen.events())
    assert told == [
        ("ConfigMap", "ConfigRefused"),
        ("ConfigMap", "ConfigReloaded"),
        ("Lease", "ConfigReloaded"),
    ]


def test_a_standby_reloads_and_leaves_events_to_the_leader(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        world.scheduler.active.clear()
        world.write(config("b"))
        await world.clock.sleep(5)

    seen = World(tmp_path).run(story)

    assert seen.outcomes == [("success", 2)]
    assert seen.events() == []


@pytest.mark.parametrize("outcome", ["good", "bad"])
def test_what_is_written_in_two_steps_is_read_as_one(tmp_path: Path, outcome: str) -> None:
    """Half a file may well be a configuration, too: it is not taken for one."""

    async def story(world: World) -> None:
        half = config("b")
        del half["profiles"][0]["pluginConfig"]
        await world.clock.sleep(0.5)
        world.write(half)
        await world.clock.sleep(1)
        world.write(config("b") if outcome == "good" else "half: [")
        await world.clock.sleep(5)

    seen = World(tmp_path).run(story)

    assert seen.outcomes == [("success", 2) if outcome == "good" else ("refused", 1)]


def test_while_an_extender_is_asked_nothing_takes_over(tmp_path: Path) -> None:
    """An attempt that waits for an extender began with one configuration, and ends with it."""

    async def story(world: World) -> None:
        deciding, turns, answered = world.scheduler.gate, DecisionThread(), asyncio.Event()
        await world.clock.sleep(1)
        world.scheduler.active.clear()
        world.scheduler.wake()
        deciding.take_turns(turns)

        def attempt() -> bool:
            before = world.scheduler.in_force.generation
            turns.ask(answered.wait)
            assert world.scheduler.in_force.generation == before
            return True

        asking = asyncio.ensure_future(deciding.run(attempt))
        world.write(config("b"))
        await world.clock.sleep(5)
        assert world.outcomes == []
        answered.set()
        assert await asking
        await world.clock.sleep(1)
        turns.close()

    assert World(tmp_path).run(story).outcomes == [("success", 2)]


def test_other_extenders_are_asked_from_then_on(tmp_path: Path) -> None:
    extender = {"urlPrefix": "http://127.0.0.1:1/", "filterVerb": "filter", "httpTimeout": "1s"}

    async def story(world: World) -> None:
        world.write(config("a", extenders=[extender]))
        await world.clock.sleep(5)
        world.apply(pod("web"))
        await world.clock.sleep(1)
        assert world.node_of("web") is None
        world.write(config("a"))
        await world.clock.sleep(30)
        assert world.node_of("web") == "a"

    seen = World(tmp_path).run(story)

    assert seen.outcomes == [("success", 2), ("success", 3)]
    assert "Post" in seen.attempts[0].message or "127.0.0.1:1" in seen.attempts[0].message
