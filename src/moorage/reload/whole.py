"""All texts together: one configuration, with its policies and canaries; or everything wrong.

The same checks are made when a process starts, when it reads again, and by `moorage config check`.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, ParamSpec, TypeVar

import msgspec

from moorage.config import canary, decoding, loading, moorage, policy
from moorage.config.canary import Canaries, ProfileCanary
from moorage.config.known import PluginInfo
from moorage.config.loading import Loaded
from moorage.config.policy import SchedulingPolicy
from moorage.config.problems import ConfigError, Problem, duplicate
from moorage.config.screening import UnknownPlugins
from moorage.config.types import KIND, SchedulerConfiguration
from moorage.framework.plugin import Plugin
from moorage.plugins.registry import describe
from moorage.policies.adopting import adopt, adopt_into, is_adopted_by
from moorage.reload import texts
from moorage.reload.texts import Text

KINDS: Final = (KIND, moorage.KIND, policy.KIND, canary.KIND)
UNAPPLIED: Final = (
    "no profile runs the plugin SchedulingPolicies, so SchedulingPolicy documents have no effect: "
    "enable it at multiPoint"
)
T = TypeVar("T")
P = ParamSpec("P")


class Whole(msgspec.Struct, frozen=True):
    """What all texts say together, and what their author should know."""

    loaded: Loaded
    policies: tuple[SchedulingPolicy, ...] = ()
    canaries: tuple[ProfileCanary, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def configuration(self) -> SchedulerConfiguration:
        return self.loaded.configuration

    def digest(self, plugins: Iterable[str] = ()) -> str:
        """A short name for exactly this; `plugins` are digests of plugin files."""
        said = (self.configuration, self.loaded.moorage, *self.canaries)
        parts = [decoding.encode(each) for each in said]
        raw = msgspec.json.encode([parts, list(plugins)], order="sorted")
        return hashlib.sha256(raw).hexdigest()[:12]


def load(
    given: Sequence[Text],
    known: Mapping[str, type[Plugin]],
    *,
    unknown_plugins: UnknownPlugins = "error",
) -> Whole:
    """The whole; ConfigError with everything that is wrong in any text."""
    described, faults = describe(known), _Faults()
    loaded = faults.catch(_loaded, given, described, unknown_plugins)
    policies = _policies(given, faults)
    for text in given:
        faults.problems += faults.catch(texts.strangers, text, KINDS) or []
    canaries: list[tuple[str, ProfileCanary]] = []
    warnings: list[str] = []
    for text in given:
        found = (
            None
            if loaded is None
            else faults.catch(_canaries, text, loaded, described, unknown_plugins)
        )
        if found is not None:
            canaries += [(text.source, each) for each in found.found]
            warnings += found.warnings
    faults.problems += canary.check_together(canaries)
    faults.raise_them()
    assert loaded is not None
    return _joined(loaded, policies, [each for _, each in canaries], warnings)


def _loaded(
    given: Sequence[Text], known: Mapping[str, PluginInfo], unknown: UnknownPlugins
) -> Loaded:
    main = _main(given)
    return loading.load(main.content, known=known, source=main.source, unknown_plugins=unknown)


def _canaries(
    text: Text, loaded: Loaded, known: Mapping[str, PluginInfo], unknown: UnknownPlugins
) -> Canaries:
    return canary.load(
        text.content,
        loaded.configuration,
        known=known,
        source=text.source,
        unknown_plugins=unknown,
    )


def _main(given: Sequence[Text]) -> Text:
    """The text that holds the only KubeSchedulerConfiguration."""
    holding = [text for text in given if texts.count(text, KIND)]
    sources = ", ".join(text.source for text in given)
    if len(holding) == 1:
        return holding[0]
    if holding:
        several = ", ".join(text.source for text in holding)
        raise ConfigError([Problem("", f"{KIND} where one is expected: {several}")])
    raise ConfigError([Problem("", f'no document with "kind: {KIND}"', 0, sources)])


def _policies(given: Sequence[Text], faults: "_Faults") -> list[SchedulingPolicy]:
    found: dict[str, SchedulingPolicy] = {}
    for text in given:
        for each in faults.catch(policy.load, text.content, source=text.source) or ():
            if each.name in found:
                detail = f"{duplicate(each.name)}: a SchedulingPolicy of another text has the name"
                faults.problems.append(Problem("metadata.name", detail, 0, text.source))
            found[each.name] = each
    return list(found.values())


def _joined(
    loaded: Loaded,
    policies: Sequence[SchedulingPolicy],
    canaries: Sequence[ProfileCanary],
    warnings: Sequence[str],
) -> Whole:
    configuration = adopt(loaded.configuration, policies)
    given_policies = tuple(_with_policies(each, policies) for each in canaries)
    unapplied = [UNAPPLIED] if policies and not is_adopted_by(configuration) else []
    return Whole(
        msgspec.structs.replace(loaded, configuration=configuration),
        tuple(policies),
        given_policies,
        (*loaded.warnings, *warnings, *unapplied),
    )


def _with_policies(given: ProfileCanary, policies: Sequence[SchedulingPolicy]) -> ProfileCanary:
    spec = msgspec.structs.replace(given.spec, profile=adopt_into(given.spec.profile, policies))
    return msgspec.structs.replace(given, spec=spec)


class _Faults:
    """Collects what is wrong, so that one fault does not hide another."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def catch(self, work: Callable[P, T], *args: P.args, **more: P.kwargs) -> T | None:
        try:
            return work(*args, **more)
        except ConfigError as error:
            self.problems += [each for each in error.problems if each not in self.problems]
            return None

    def raise_them(self) -> None:
        if self.problems:
            raise ConfigError(self.problems)
