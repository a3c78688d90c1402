"""A candidate: a configuration to be tried, as text, so that it can be sent to other processes."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import msgspec

from moorage.app import config_bundle, input_files, plugin_files
from moorage.app.built_in_plugins import describe_plugins
from moorage.app.config_text import ConfigText
from moorage.config.loader import Loaded, load
from moorage.config.types import API_VERSION, KIND
from moorage.framework.plugin_registry import Registry

DEFAULT: str = "kube-default"


class Candidate(msgspec.Struct, frozen=True, dict=True):
    """A name, the configuration's text (empty: kube's default), and where its plugins are."""

    name: str
    source: str = ""
    text: bytes = b""
    plugin_specs: tuple[str, ...] = ()

    def plugins(self) -> Registry:
        """Every plugin that the configuration may name."""
        return self._known

    def load(self) -> Loaded:
        """The configuration, checked."""
        return self._loaded[0]

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings for the author of the configuration."""
        return self._loaded[1]

    @cached_property
    def _known(self) -> Registry:
        return plugin_files.load_plugins(self.plugin_specs)

    @cached_property
    def _loaded(self) -> tuple[Loaded, tuple[str, ...]]:
        if not self.text:
            described = describe_plugins(self._known)
            return load({"apiVersion": API_VERSION, "kind": KIND}, known=described), ()
        found = config_bundle.load_bundle([ConfigText(self.source, self.text)], self._known)
        return found.loaded, found.warnings


def read_candidates(files: Sequence[str], plugins: Sequence[str] = ()) -> list[Candidate]:
    """One candidate for each file, named by it; kube's default where there is none."""
    if not files:
        return [Candidate(DEFAULT, plugin_specs=tuple(plugins))]
    found: list[Candidate] = []
    for file in files:
        text = input_files.read_input(file, "--config")
        name = _unique(Path(input_files.title_of(file)).stem, [each.name for each in found])
        found.append(Candidate(name, input_files.title_of(file), text, tuple(plugins)))
    return found


def _unique(name: str, taken: Sequence[str]) -> str:
    number, made = 1, name
    while made in taken:
        number += 1
        made = f"{name}-{number}"
    return made
