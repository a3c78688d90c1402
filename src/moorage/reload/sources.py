"""Everything that a configuration is read from."""

import hashlib
from typing import NamedTuple, Protocol

from moorage.framework.registry import Registry
from moorage.reload import building, whole
from moorage.reload.config_maps import ConfigMaps
from moorage.reload.files import Files
from moorage.reload.texts import Text
from moorage.reload.whole import Whole
from moorage.scheduler.reconfiguring import Version


class PluginFiles(Protocol):
    """The plugins that may be named, read again where their files have changed."""

    @property
    def digests(self) -> tuple[str, ...]: ...

    def load(self) -> Registry: ...


class Candidate(NamedTuple):
    """What was read and found right, ready to take over."""

    whole: Whole
    version: Version


class Sources(NamedTuple):
    """Files, ConfigMaps, and the files of plugins."""

    files: Files
    config_maps: ConfigMaps
    plugins: PluginFiles

    def read(self) -> list[Text]:
        """Every text; InputError where something is not there."""
        return [*self.files.read(), *self.config_maps.read()]

    def fingerprint(self, texts: list[Text]) -> str:
        """The same as long as nothing has changed, in texts or plugin files."""
        parts = [f"{text.source}={text.fingerprint}" for text in texts]
        parts += self.files.contents()
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def prepare(self, texts: list[Text], generation: int) -> Candidate:
        """Check everything and make it ready; raises whatever is wrong. May run in a thread."""
        known = self.plugins.load()
        found = whole.load(texts, known)
        digest = found.digest(self.plugins.digests)
        return Candidate(found, building.version(found, known, generation, digest))
