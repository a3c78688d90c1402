"""Reads kubeconfig files and selects a context: its cluster, user and namespace.

Several files are merged as in kubectl: of entries with the same name the first one counts.
Paths inside a file are relative to that file.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
import yaml

from moorage.api import mismatch

PATH_FIELDS: Final = ("certificate_authority", "client_certificate", "client_key", "token_file")


class KubeconfigError(ValueError):
    """An error in a kubeconfig: the message names the file, the field and the remedy."""

    def __init__(self, file: str, place: str, problem: str) -> None:
        super().__init__(": ".join(part for part in (file, place, problem) if part))
        self.file = file
        self.place = place
        self.problem = problem


class _Struct(msgspec.Struct, frozen=True, rename="kebab"):
    """The dialect of kubeconfig: dashes in names, unknown fields ignored."""


class Cluster(_Struct, frozen=True):
    """The address of an API server, and how to verify it."""

    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: bytes = b""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""
    disable_compression: bool = False


class ExecVariable(msgspec.Struct, frozen=True):
    """One variable of a credential plugin's environment."""

    name: str
    value: str = ""


class Exec(msgspec.Struct, frozen=True, rename="camel"):
    """A program that prints credentials."""

    command: str
    api_version: str = ""
    args: tuple[str, ...] | None = None
    env: tuple[ExecVariable, ...] | None = None
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = "IfAvailable"


class User(_Struct, frozen=True):
    """How to authenticate."""

    client_certificate: str = ""
    client_certificate_data: bytes = b""
    client_key: str = ""
    client_key_data: bytes = b""
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    username: str = ""
    password: str = ""
    exec: Exec | None = None
    auth_provider: dict[str, Any] | None = None
    impersonate: str = msgspec.field(default="", name="as")
    impersonate_uid: str = msgspec.field(default="", name="as-uid")
    impersonate_groups: tuple[str, ...] = msgspec.field(default=(), name="as-groups")
    impersonate_extra: dict[str, tuple[str, ...]] = msgspec.field(
        default_factory=dict, name="as-user-extra"
    )


class Context(_Struct, frozen=True):
    """A cluster and a user by name."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


class SelectedContext(msgspec.Struct, frozen=True):
    """One context of a kubeconfig with its cluster and its user."""

    context: str
    cluster_name: str
    user_name: str
    cluster: Cluster
    user: User
    file: str
    namespace: str = ""


Entry = TypeVar("Entry", Cluster, User, Context)


class Kubeconfig:
    """Clusters, users and contexts by name, each with the file it came from."""

    def __init__(self) -> None:
        self.current = ""
        self.files: list[str] = []
        self.clusters: dict[str, tuple[Cluster, str]] = {}
        self.users: dict[str, tuple[User, str]] = {}
        self.contexts: dict[str, tuple[Context, str]] = {}

    def add(self, path: Path) -> None:
        """Add one file; entries whose names are known already are ignored."""
        file = str(path)
        data = _read(path)
        self.files.append(file)
        self.current = self.current or _text(data, "current-context", file)
        _adopt(self.clusters, data, ("clusters", "cluster"), Cluster, file)
        _adopt(self.users, data, ("users", "user"), User, file)
        _adopt(self.contexts, data, ("contexts", "context"), Context, file)

    def select(self, wanted: str = "") -> SelectedContext:
        """The context of that name, or the current one."""
        files = ", ".join(self.files)
        name = wanted or self.current
        if not name:
            hint = f"name one with --context: {', '.join(self.contexts)}"
            raise KubeconfigError(files, "current-context", f"not set; {hint}")
        context, file = _find(self.contexts, name, "context", files)
        place = f"context {name!r}"
        if not context.cluster:
            raise KubeconfigError(file, place, "names no cluster")
        cluster, _ = _find(self.clusters, context.cluster, f"{place}: cluster", files)
        user, home = User(), file
        if context.user:
            user, home = _find(self.users, context.user, f"{place}: user", files)
        return SelectedContext(
            name, context.cluster, context.user, cluster, user, home, context.namespace
        )


def load_kubeconfig(paths: Iterable[str | Path], context: str = "") -> SelectedContext:
    """Read these files, and select one context."""
    merged = Kubeconfig()
    for path in paths:
        merged.add(Path(path).expanduser())
    return merged.select(context)


def _find(
    entries: dict[str, tuple[Entry, str]], name: str, what: str, files: str
) -> tuple[Entry, str]:
    found = entries.get(name)
    if found is None:
        known = ", ".join(sorted(entries)) or "none"
        raise KubeconfigError(files, what, f"there is no {name!r}; there is: {known}")
    return found


def _read(path: Path) -> dict[str, Any]:
    try:
        found = [each for each in yaml.safe_load_all(path.read_bytes()) if each is not None]
    except OSError as error:
        raise KubeconfigError(str(path), "", error.strerror or str(error)) from None
    except yaml.YAMLError as error:
        raise KubeconfigError(str(path), _line(error), "not YAML") from None
    if len(found) > 1:
        problem = f"{len(found)} YAML documents where a kubeconfig is one: is it a manifest?"
        raise KubeconfigError(str(path), "", problem)
    data = found[0] if found else None
    if not isinstance(data, dict):
        raise KubeconfigError(str(path), "", "not a kubeconfig: it holds no clusters and users")
    return data


def _line(error: yaml.YAMLError) -> str:
    """The line of a YAML error; its text is left out, because it may be a secret."""
    mark = getattr(error, "problem_mark", None)
    return "" if mark is None else f"line {mark.line + 1}"


def _text(data: dict[str, Any], field: str, file: str) -> str:
    value = data.get(field) or ""
    if not isinstance(value, str):
        raise KubeconfigError(file, field, "expected a string")
    return value


def _adopt(
    known: dict[str, tuple[Entry, str]],
    data: dict[str, Any],
    fields: tuple[str, str],
    struct: type[Entry],
    file: str,
) -> None:
    plural, singular = fields
    entries = data.get(plural) or []
    if not isinstance(entries, list):
        raise KubeconfigError(file, plural, "expected a list")
    for index, entry in enumerate(entries):
        place = f"{plural}[{index}]"
        name = entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(name, str) or not name:
            raise KubeconfigError(file, f"{place}.name", "missing")
        if name not in known:
            known[name] = _convert(entry.get(singular), struct, file, f"{place}.{singular}"), file


def _convert(value: Any, struct: type[Entry], file: str, place: str) -> Entry:
    cleaned = _cleaned(value or {})
    try:
        made = msgspec.convert(cleaned, struct)
    except msgspec.ValidationError as error:
        misfit = mismatch.explain_mismatch(str(error), cleaned, secret=True)
        inside = f".{misfit.path}" if misfit.path else ""
        raise KubeconfigError(file, f"{place}{inside}", misfit.problem) from None
    paths = {
        field: str(Path(file).parent / Path(given).expanduser())
        for field in PATH_FIELDS
        if (given := getattr(made, field, ""))
    }
    return msgspec.structs.replace(made, **paths)


def _cleaned(value: Any) -> Any:
    """The value without nulls, and with base64 data in one line."""
    if not isinstance(value, dict):
        return value
    return {
        key: "".join(inner.split()) if _is_data(key, inner) else _cleaned(inner)
        for key, inner in value.items()
        if inner is not None
    }


def _is_data(key: Any, value: Any) -> bool:
    return isinstance(value, str) and str(key).endswith("-data")
