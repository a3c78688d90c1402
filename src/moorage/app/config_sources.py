"""The files and ConfigMaps that a configuration is read from, and whether they changed."""

import hashlib
import random
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import msgspec

from moorage.api.cluster_objects import ConfigMap
from moorage.api.decode import decode_as
from moorage.app import config_bundle, config_text, profile_builder
from moorage.app.config_bundle import ConfigBundle
from moorage.app.config_text import ConfigText
from moorage.app.input_files import STDIN, os_problem, read_input, title_of
from moorage.clock import Clock
from moorage.config.field_errors import InputError
from moorage.config.types import SchedulerConfiguration
from moorage.config.yaml_documents import SUFFIXES
from moorage.framework.plugin_registry import Registry
from moorage.scheduler.version import Version
from moorage.watch.api_errors import ApiError, Forbidden, NotFound, Unauthorized
from moorage.watch.api_resources import RESOURCES
from moorage.watch.api_server import ApiServer
from moorage.watch.reflector import Reflector

Signature = tuple[tuple[str, int, int, int], ...]
"""(name, inode, time of change, size) of each file; zeros for a file that does not exist."""

_MISSING: Final = (0, 0, 0)


class ConfigFiles:
    """Files and folders of texts, by the option that names them.

    `beside` are files that are only watched; their content is read elsewhere.
    """

    def __init__(self, named: Mapping[str, Iterable[str]], beside: Iterable[Path] = ()) -> None:
        self._paths = [(option, Path(path)) for option, paths in named.items() for path in paths]
        self._beside = list(beside)
        self._piped: dict[Path, bytes] = {}

    def read(self) -> list[ConfigText]:
        """Every text; InputError if a file does not exist."""
        problems: list[str] = []
        texts: list[ConfigText] = []
        for option, path in self._paths:
            try:
                found = _config_files(path)
            except OSError as error:
                problems.append(f"{option} {os_problem(path, error)}")
                continue
            if not found:
                inside = ", or no manifests in it" if path.is_dir() else ""
                problems.append(f"{option} {path}: no such file{inside}")
            texts += [ConfigText(title_of(file), self._content(file, option)) for file in found]
        if problems:
            raise InputError(problems)
        return texts

    def _content(self, file: Path, option: str) -> bytes:
        """The content of a file; that of a pipe is kept, because it can be read only once."""
        found = self._piped.get(file)
        if found is None:
            found = read_input(file, option)
            if not file.is_file():
                self._piped[file] = found
        return found

    def contents(self) -> list[str]:
        """Digests of the files whose content is read elsewhere."""
        there = (file for file in self._beside if file.is_file())
        return [hashlib.sha256(file.read_bytes()).hexdigest() for file in there]

    def signature(self) -> Signature:
        """What tells whether anything has changed."""
        listed = [file for _, path in self._paths for file in _listed(path)]
        return tuple((str(file), *_stat(file)) for file in (*listed, *self._beside))


def _config_files(path: Path) -> list[Path]:
    """A file, or the manifests of a folder; hidden files belong to a ConfigMap's mount."""
    if path.is_dir():
        inside = (file for file in path.iterdir() if not file.name.startswith("."))
        return sorted(file for file in inside if file.suffix in SUFFIXES and file.is_file())
    return [path] if path.exists() or str(path) == STDIN else []


def _listed(path: Path) -> list[Path]:
    """What is watched; the path itself where nothing is there, or it cannot be seen what is."""
    try:
        return _config_files(path) or [path]
    except OSError:
        return [path]


def _stat(file: Path) -> tuple[int, int, int]:
    try:
        found = file.stat()
    except OSError:
        return _MISSING
    return found.st_ino, found.st_mtime_ns, found.st_size


CONFIG_MAPS: Final = RESOURCES["configmaps"]
OPTION: Final = "--config-map"
RETRY_SECONDS: Final = 1.0

Failed = Callable[[str, ApiError], None]


class ConfigMapRef(NamedTuple):
    """A ConfigMap, and the key of the only text to read from it; an empty key means all."""

    namespace: str
    name: str
    key: str = ""

    @classmethod
    def parse(cls, text: str) -> "ConfigMapRef":
        """Read `NAMESPACE/NAME` or `NAMESPACE/NAME:KEY`."""
        place, _, key = text.partition(":")
        namespace, _, name = place.partition("/")
        if not namespace or not name or "/" in name:
            raise InputError([f"{OPTION} {text}: write NAMESPACE/NAME or NAMESPACE/NAME:KEY"])
        return cls(namespace, name, key)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" + (f":{self.key}" if self.key else "")


class ConfigMaps:
    """The ConfigMaps as last read; `None` for one that does not exist."""

    def __init__(self, refs: Iterable[ConfigMapRef]) -> None:
        self.refs = tuple(refs)
        self.known: dict[ConfigMapRef, ConfigMap | None] = {}

    def read(self) -> list[ConfigText]:
        """Every text; InputError if a ConfigMap, or its key, does not exist."""
        problems: list[str] = []
        found: list[ConfigText] = []
        for ref in self.refs:
            config_map = self.known.get(ref)
            if config_map is None:
                problems.append(f"{OPTION} {ref}: there is no such ConfigMap: create it")
            elif ref.key and ref.key not in config_map.data:
                keys = ", ".join(sorted(config_map.data)) or "none"
                problems.append(f'{OPTION} {ref}: no key "{ref.key}"; there are: {keys}')
            else:
                found.append(config_text.text_of_config_map(config_map, ref.key))
        if problems:
            raise InputError(problems)
        return found

    async def fetch(self, server: ApiServer, clock: Clock, failed: Failed) -> None:
        """Read each once. Retried if the server does not answer; InputError if it refuses."""
        for ref in self.refs:
            while ref not in self.known:
                try:
                    raw = await server.get(CONFIG_MAPS, ref.namespace, ref.name)
                except NotFound:
                    self.known[ref] = None
                except (Forbidden, Unauthorized) as error:
                    raise InputError([f"{OPTION} {ref}: {error}"]) from None
                except ApiError as error:
                    failed(str(ref), error)
                    await clock.sleep(max(RETRY_SECONDS, error.retry_after))
                else:
                    self.known[ref] = decode_as(raw, ConfigMap)

    async def follow(
        self, ref: ConfigMapRef, server: ApiServer, clock: Clock, rng: random.Random, failed: Failed
    ) -> AsyncGenerator[None, None]:
        """Keep one up to date; yields after every change."""
        reflector = Reflector(
            server,
            CONFIG_MAPS.one(f"{ref.namespace}/{ref.name}"),
            clock=clock,
            rng=rng,
            on_error=lambda error, delay: failed(f"watch/configmaps/{ref}", error),
        )
        async with aclosing(reflector.changes()) as changes:
            async for change in changes:
                if change.type == "synced":
                    continue
                self.known[ref] = change.new if isinstance(change.new, ConfigMap) else None
                yield


class PluginLoader(Protocol):
    """Loads the plugins that may be named; files that have changed are read again."""

    @property
    def digests(self) -> tuple[str, ...]: ...

    def load(self) -> Registry: ...


class Candidate(NamedTuple):
    """A configuration that was read and checked, ready to take over."""

    whole: ConfigBundle
    version: Version


def _as_given(configuration: SchedulerConfiguration) -> SchedulerConfiguration:
    return configuration


class ConfigSources(NamedTuple):
    """Files, ConfigMaps, and the files of plugins.

    `fixed` are texts of the process itself; `override` applies the command line's changes.
    """

    files: ConfigFiles
    config_maps: ConfigMaps
    plugins: PluginLoader
    fixed: tuple[ConfigText, ...] = ()
    override: Callable[[SchedulerConfiguration], SchedulerConfiguration] = _as_given

    def read(self) -> list[ConfigText]:
        """Every text; InputError if one does not exist."""
        return [*self.fixed, *self.files.read(), *self.config_maps.read()]

    def load(self, texts: list[ConfigText], known: Registry) -> ConfigBundle:
        """The content of the texts, changed by the command line; ConfigError if it is invalid."""
        found = config_bundle.load_bundle(texts, known)
        changed = self.override(found.configuration)
        loaded = msgspec.structs.replace(found.loaded, configuration=changed)
        return msgspec.structs.replace(found, loaded=loaded)

    def fingerprint(self, texts: list[ConfigText]) -> str:
        """A digest that changes if a text or a plugin file has changed."""
        parts = [f"{text.source}={text.fingerprint}" for text in texts]
        parts += self.files.contents()
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def prepare(self, texts: list[ConfigText], generation: int) -> Candidate:
        """Load, check and build everything; raises any error. May run in a thread."""
        known = self.plugins.load()
        found = self.load(texts, known)
        digest = found.digest(self.plugins.digests)
        return Candidate(found, profile_builder.build_version(found, known, generation, digest))
