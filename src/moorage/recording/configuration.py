"""A configuration with its plugins, as it is recorded, and built again for a replay."""

import os
import platform
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
import yaml

from moorage import __version__, kernels
from moorage.app import built_in_plugins, config_bundle, plugin_files
from moorage.app.config_bundle import ConfigBundle
from moorage.app.config_text import ConfigText
from moorage.app.profile_builder import build_profiles, build_version
from moorage.config import strict_decoder, yaml_dump
from moorage.config.durations import Duration
from moorage.config.field_errors import InputError
from moorage.config.moorage_configuration import PluginGuard
from moorage.cycle.profile import Profile
from moorage.framework.plugin import Plugin
from moorage.framework.plugin_registry import Registry
from moorage.recording.checkpoint import profile_key
from moorage.recording.entries import Configured, PluginCode
from moorage.recording.plugin_code import code_of, file_digest, plugin_code
from moorage.rollout.rollback import Canaries

SOURCE: Final = "the recording"
NOT_HERE: Final = (
    "the recording was made with the plugin {} of {} (sha256 {}), which is not installed here, and "
    "no file that a recording names is run: read it, then give it with --plugin"
)
ANOTHER: Final = (
    "the plugin {} of {} (sha256 {}) is not that of the recording, {} (sha256 {}): give that file, "
    "or see what differs with `moorage replay --changed-plugins`"
)


def configured(
    found: ConfigBundle,
    known: Mapping[str, type[Plugin]],
    plugins: Sequence[str] = (),
    generation: int = 1,
) -> Configured:
    """A configuration as it is recorded; `plugins` are the `--plugin` arguments."""
    documents = [yaml_dump.dump_all(found.loaded)]
    documents += [yaml.safe_dump(strict_decoder.encode(each)) for each in found.canaries]
    profiles = _profiles_of(found, known)
    return Configured(
        generation,
        "---\n".join(documents),
        code_of(profiles.values()),
        tuple(Path(each).name if each.endswith(".py") else each for each in plugins),
        bool(kernels.built),
        __version__,
        platform.python_version(),
    )


class LoadedPlugins(msgspec.Struct, frozen=True):
    """The plugins that whoever opens a recording gives with `--plugin`.

    If they are `changed`, their code may be other than that which was recorded.
    """

    named: tuple[str, ...] = ()
    changed: bool = False

    def load(self, given: Configured) -> Registry:
        """The installed plugins and those given; what the recording names is never loaded.

        Raises an InputError if a plugin of the recording is not among them, or is another one.
        """
        if not self.changed:
            _refuse_other_files(given.code, self.named)
        known = plugin_files.load_plugins(self.named)
        problems = [
            NOT_HERE.format(code.name, code.file, code.digest or "unknown")
            for code in given.code
            if code.name not in known
        ]
        if not self.changed:
            installed = set(built_in_plugins.installed().values())
            problems += _others(given.code, known, installed)
        if problems:
            raise InputError(problems)
        return known

    def profiles(self, given: Configured) -> dict[str, Profile]:
        """The profiles of a recorded configuration, by `profile_key`."""
        known = self.load(given)
        return _profiles_of(load_text(given.text, known), known)


NO_PLUGINS: Final = LoadedPlugins()


def _refuse_other_files(recorded: Iterable[PluginCode], named: Iterable[str]) -> None:
    """Refuse, before it is run, a file of a recorded name with other content."""
    then = {code.file: code for code in recorded}
    for each in filter(os.path.isfile, named):
        code, here = then.get(Path(each).name), file_digest(Path(each))
        if code is not None and code.digest != here:
            raise InputError([ANOTHER.format(code.name, each, here, code.file, code.digest)])


def _others(
    recorded: Iterable[PluginCode], known: Registry, installed: Container[type[Plugin]]
) -> Iterator[str]:
    """What differs between recorded plugins and those given by the same names."""
    for then in recorded:
        if then.name in known and known[then.name] not in installed:
            here = plugin_code(then.name, known[then.name])
            if here.digest != then.digest:
                yield ANOTHER.format(then.name, here.file, here.digest, then.file, then.digest)


def load_text(text: str, known: Mapping[str, type[Plugin]]) -> ConfigBundle:
    """A configuration from its documents."""
    return config_bundle.load_bundle([ConfigText(SOURCE, text.encode())], known)


def _profiles_of(found: ConfigBundle, known: Mapping[str, type[Plugin]]) -> dict[str, Profile]:
    """Every profile and canary, without plugin deadlines, because time stands still in a replay."""
    guard = _patient(found.loaded.moorage.plugin_guard)
    moorage = msgspec.structs.replace(found.loaded.moorage, plugin_guard=guard)
    loaded = msgspec.structs.replace(found.loaded, moorage=moorage)
    whole = msgspec.structs.replace(found, loaded=loaded)
    if not whole.canaries:
        made = build_profiles(whole.configuration, known, guard)
        return {profile_key(profile): profile for profile in made.values()}
    version = build_version(whole, known, 1, "")
    canaries = [each.profile for each in version.features[Canaries].values()]
    return {profile_key(each): each for each in (*version.profiles.values(), *canaries)}


def _patient(guard: PluginGuard) -> PluginGuard:
    """The same guard without deadlines: this machine may be slower than the recorded one."""
    never = Duration(0)
    some = tuple(msgspec.structs.replace(each, deadline=None) for each in guard.plugins)
    return msgspec.structs.replace(guard, deadline=never, plugins=some)
