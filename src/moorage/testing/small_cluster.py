"""A small cluster, and attempts to schedule pods on it."""

from collections.abc import Iterable
from functools import cache

from moorage.api.meta import KubeObject
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.app import built_in_plugins
from moorage.app.profile_builder import enable_always_on
from moorage.cache.cache import Cache
from moorage.cache.consistency import validate_cache
from moorage.config.default_plugins import SCHEDULER_NAME
from moorage.config.loader import default_configuration
from moorage.config.moorage_configuration import NO_LIMITS, PluginGuard
from moorage.config.resolved_profile import Enabled, ResolvedProfile, resolve
from moorage.cycle import attempt as cycle_attempt
from moorage.cycle import profile
from moorage.cycle.attempt import Decision, Unschedulable
from moorage.cycle.profile import Profile
from moorage.framework.cycle import Cycle
from moorage.framework.plugin import Plugin, give_handles
from moorage.framework.points import points_of
from moorage.guard.guards import Guards
from moorage.testing.builders import NodeBuilder, PodBuilder

Object = KubeObject | NodeBuilder | PodBuilder


class Cluster:
    """Nodes and pods held in the real cache, scheduled by the real engine.

    `plugins` run after kube-scheduler's own, at every extension point they implement, with weight
    1. With `alone=True` only they run. They are guarded as on a real cluster, except for time:
    there is no deadline and no circuit breaker unless `guard` says so.
    """

    def __init__(
        self,
        *objects: Object,
        plugins: Iterable[Plugin] = (),
        alone: bool = False,
        seed: int = 0,
        guard: PluginGuard = NO_LIMITS,
    ) -> None:
        self.cache = Cache()
        self.now = 0.0
        self.profile = profile_of(list(plugins), alone, guard)
        self.profile.guards.attach(lambda: self.now)
        self.profile.handles = give_handles(
            self.profile.plugins, self.cache, self.profile.shared, lambda: self.now
        )
        self.seed = seed
        for obj in objects:
            self.add(obj)

    def add(self, obj: Object) -> None:
        """Add a node, a bound pod, or any other object."""
        built = obj.build() if isinstance(obj, NodeBuilder | PodBuilder) else obj
        if isinstance(built, Node):
            self.cache.put_node(built)
        elif isinstance(built, Pod):
            self.cache.put_pod(built)
        else:
            self.cache.objects.put(built)

    def attempt(self, pod: Pod | PodBuilder) -> Decision | Unschedulable:
        """The decision on a pod, with every score kept; the cluster does not change."""
        decided = cycle_attempt.run(self.profile, self.cycle(pod), keep_scores=True)
        validate_cache(self.cache)
        return decided

    def place(self, pod: Pod | PodBuilder) -> str | None:
        """Schedule a pod and count it on its node; None if it fits nowhere."""
        cycle = self.cycle(pod)
        decided = cycle_attempt.run(self.profile, cycle)
        if isinstance(decided, Unschedulable):
            return None
        self.cache.assume(cycle.incoming, decided.node)
        return decided.node

    def why_not(self, pod: Pod | PodBuilder) -> str:
        """The FailedScheduling text; "" if the pod fits somewhere."""
        decided = self.attempt(pod)
        return decided.message if isinstance(decided, Unschedulable) else ""

    def scores(self, pod: Pod | PodBuilder, plugin: str) -> dict[str, int]:
        """One plugin's weighted score for every feasible node."""
        decided = self.attempt(pod)
        if isinstance(decided, Unschedulable) or decided.scoring is None:
            return {}
        scored = decided.scoring
        return {
            scored.nodes.node(position).name: scored.of(position).get(plugin, 0)
            for position in range(scored.nodes.count)
        }

    def cycle(self, pod: Pod | PodBuilder) -> Cycle:
        """A new cycle for a pod, as hooks of plugins get it."""
        built = pod.build() if isinstance(pod, PodBuilder) else pod
        return Cycle(
            self.cache,
            self.cache.info(built),
            seed=self.seed,
            now=self.now,
            shared=self.profile.shared,
        )


def attempt(
    pod: Pod | PodBuilder, *nodes: Node | NodeBuilder, plugins: Iterable[Plugin] = ()
) -> Decision | Unschedulable:
    """One attempt to schedule a pod on some nodes."""
    return Cluster(*nodes, plugins=plugins).attempt(pod)


def profile_of(plugins: list[Plugin], alone: bool, guard: PluginGuard) -> Profile:
    """kube-scheduler's default profile with some plugins added, or with these alone."""
    resolved = _default_profile()
    built = profile.build(resolved, built_in_plugins.built_in())
    if not plugins:
        return built
    guards = Guards(guard, SCHEDULER_NAME)
    named = {type(plugin).plugin_name(): guards.rewrap(plugin) for plugin in plugins}
    points = {} if alone else dict(resolved.points)
    for name, plugin in named.items():
        for point in points_of(type(plugin)):
            points[point] = _placed(point, points.get(point, ()), Enabled(name, 1))
    extended = ResolvedProfile(resolved.scheduler_name, None, points, resolved.args)
    return Profile(extended, {**built.plugins, **named}, guards=guards)


@cache
def _default_profile() -> ResolvedProfile:
    """kube-scheduler's default profile: the same for every cluster, and never changed."""
    known = built_in_plugins.built_in()
    described = built_in_plugins.describe_plugins(known)
    configured = default_configuration(described).profiles[0]
    return enable_always_on(resolve(configured, described), known)


def _placed(point: str, others: tuple[Enabled, ...], added: Enabled) -> tuple[Enabled, ...]:
    """A plugin's place: QueueSort allows only one, Bind plugins run first, others run last."""
    if point == "queueSort":
        return (added,)
    return (added, *others) if point == "bind" else (*others, added)
