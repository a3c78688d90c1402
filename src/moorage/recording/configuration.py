"""A configuration with its plugins, as it is recorded, and built again for a replay."""

import platform
from collections.abc import Mapping, Sequence

import msgspec
import yaml

from moorage import __version__, kernels
from moorage.app import config_bundle, plugin_files
from moorage.app.config_bundle import ConfigBundle
from moorage.app.config_text import ConfigText
from moorage.app.profile_builder import build_profiles, build_version
from moorage.config import strict_decoder, yaml_dump
from moorage.config.durations import Duration
from moorage.config.moorage_configuration import PluginGuard
from moorage.cycle.profile import Profile
from moorage.framework.plugin import Plugin
from moorage.recording.checkpoint import profile_key
from moorage.recording.entries import Configured
from moorage.recording.plugin_code import code_of
from moorage.rollout.rollback import Canaries

SOURCE = "the recording"


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
        tuple(plugins),
        bool(kernels.built),
        __version__,
        platform.python_version(),
    )


def recorded_profiles(
    given: Configured, plugins: Sequence[str] | None = None
) -> dict[str, Profile]:
    """The profiles of a recorded configuration, by `profile_key`.

    `plugins` replace the recorded `--plugin` arguments. Raises an InputError if a plugin is not
    found.
    """
    known = plugin_files.load_plugins(given.plugins if plugins is None else plugins)
    return _profiles_of(load_text(given.text, known), known)


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
