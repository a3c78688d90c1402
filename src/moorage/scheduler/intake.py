"""Intake: one reflector task per resource; each change is passed on once, in order.

Every change takes one path, wherever it comes from: features may replace it (`adjust`), and are
called before and after it is applied to the cache and the queue.

Resources that a server need not have are followed in the first version that it serves
(`optional_resources`). `synced` means that each required resource has been listed. Of the optional
resources it covers only those that a feature needs: each must be listed, or known to be absent.
"""

import random
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from moorage.api.meta import KubeObject
from moorage.api.pod import Pod
from moorage.clock import Clock
from moorage.observe.observers import Observers
from moorage.scheduler.event_handlers import EventHandlers
from moorage.scheduler.feature import Features, Hook
from moorage.scheduler.loop import AttemptGate
from moorage.scheduler.optional_resources import optional_changes
from moorage.scheduler.tasks import Start, Wake
from moorage.watch.api_errors import ApiError
from moorage.watch.api_resources import PODS, RESOURCES, Resource
from moorage.watch.api_server import ApiServer
from moorage.watch.reflector import Change, Reflector

FOLLOWED = tuple(
    resource
    for plural, resource in RESOURCES.items()
    if plural not in {"events", "leases", "configmaps", "elasticquotas"}
    and not plural.endswith("podgroups")
    and resource.group != "resource.k8s.io"
)


class KnownObjects:
    """Every object as the API server last reported it, before any feature adjusts it."""

    def __init__(self, reflectors: Mapping[str, Reflector]) -> None:
        self._reflectors = reflectors

    def get(self, resource: Resource, key: str) -> KubeObject | None:
        return self._reflectors[resource.plural].known.get(key)

    def pod(self, key: str) -> Pod | None:
        """A pod, whether it runs, waits or has finished."""
        known = self.get(PODS, key)
        return known if isinstance(known, Pod) else None

    def pods(self) -> list[Pod]:
        known = self._reflectors[PODS.plural].known.values()
        return [pod for pod in known if isinstance(pod, Pod)]


Believe = Callable[[Change, Resource], None]
"""Applies a change; to be called between attempts."""


class Intake:
    """Receives changes, and passes them to the features, the cache and the queue."""

    def __init__(
        self,
        server: ApiServer,
        clock: Clock,
        rng: random.Random,
        observers: Observers,
        handlers: EventHandlers,
        features: Features,
        gate: AttemptGate,
        wake: Wake,
        followed: Iterable[Resource],
        served: dict[str, Resource] | None = None,
    ) -> None:
        self._server = server
        self._clock = clock
        self._rng = rng
        self._observers = observers
        self._handlers = handlers
        self._features = features
        self._gate = gate
        self._wake = wake
        self._served = {} if served is None else served
        """Plural name -> the served version of each optional resource."""
        self._hooks: dict[str, tuple[Hook, Hook, Hook]] = {}
        self.reflectors = {
            resource.plural: self._reflector(resource, by_page=True) for resource in followed
        }
        self.optional_reflectors: list[Reflector] = []
        self.known = KnownObjects(self.reflectors)
        self._unsynced: int | None = None

    @property
    def synced(self) -> bool:
        """Whether every resource has been listed once."""
        return self._unsynced == 0

    def start(self, start: Start) -> None:
        """Start a task for each resource to follow."""
        named = {reflector.resource for reflector in self.reflectors.values()}
        optional = [each for each in self._features.optional if not set(each) & named]
        needed = [versions for versions in optional if self._features.needs(versions)]
        self._unsynced = len(self.reflectors) + len(needed)
        for plural, reflector in self.reflectors.items():
            start(self._follow(reflector), f"watch/{plural}")
        for versions in optional:
            follow = self._follow_where_served(versions, is_needed=versions in needed)
            start(follow, f"watch/{versions[0].qualified}")

    def believe(self, change: Change, resource: Resource) -> None:
        """Apply a change: features first, then cache and queue, then features again."""
        try:
            adjust, before, after = self._hooks[resource.plural]
        except KeyError:
            adjust, before, after = self._bind(resource.plural)
        for hook in adjust:
            change = hook(change)
        for hook in before:
            hook(change, resource)
        self._handlers.apply(change)
        for hook in after:
            hook(change, resource)

    def _bind(self, plural: str) -> tuple[Hook, Hook, Hook]:
        features = self._features
        hooks = features.adjust(plural), features.before(plural), features.after(plural)
        self._hooks[plural] = hooks
        return hooks

    async def _follow(self, reflector: Reflector) -> None:
        async for change in reflector.changes():
            self._hear(change, reflector.resource)
            if change.type == "synced":
                self._listed_one()

    async def _follow_where_served(
        self, versions: tuple[Resource, ...], *, is_needed: bool
    ) -> None:
        known = not is_needed
        following = optional_changes(
            self._server, versions, self._optional_reflector, self._clock, self._failed
        )
        async for resource, change in following:
            if change is None:
                self._listed(resource, served=False)
            else:
                self._hear(change, resource)
            if not known and (change is None or change.type == "synced"):
                known = True
                self._listed_one()
                self._wake()

    def _listed_one(self) -> None:
        if self._unsynced:
            self._unsynced -= 1

    def _hear(self, change: Change, resource: Resource) -> None:
        self._gate.later(partial(self._heard, change, resource))

    def _heard(self, change: Change, resource: Resource) -> None:
        if change.type == "synced":
            self._listed(resource, served=True)
        else:
            try:
                self.believe(change, resource)
            except Exception as error:  # one object that raises must not stop the others
                self._observers.failed(_key(change), "", error)
        self._wake()

    def _listed(self, resource: Resource, *, served: bool) -> None:
        for listed in self._features.listed:
            listed(resource, served)

    def _optional_reflector(self, resource: Resource) -> Reflector:
        made = self._reflector(resource)
        self._served[resource.plural] = resource
        self.optional_reflectors.append(made)
        return made

    def _reflector(self, resource: Resource, *, by_page: bool = False) -> Reflector:
        return Reflector(
            self._server,
            resource,
            clock=self._clock,
            rng=self._rng,
            on_error=partial(self._failed, resource),
            by_page=by_page,
        )

    def _failed(self, resource: Resource, error: ApiError, delay: float = 0.0) -> None:
        self._observers.failed(f"watch/{resource.plural}", "", error)


def _key(change: Change) -> str:
    obj = change.new if change.new is not None else change.old
    return "" if obj is None else f"{type(obj).__name__} {obj.key}"
