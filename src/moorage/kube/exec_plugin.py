"""Exec credential plugins: runs them and keeps the ExecCredential until it expires."""

import asyncio
import base64
import contextlib
import datetime
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from moorage.api.decode import UNREADABLE
from moorage.kube.kubeconfig import Exec, KubeconfigError, SelectedContext

GROUP: Final = "client.authentication.k8s.io"
VERSIONS: Final = (f"{GROUP}/v1", f"{GROUP}/v1beta1")
TIMEOUT_SECONDS: Final = 60.0
KILLED_SECONDS: Final = 1.0
"""How long a plugin that was killed may hold its pipes."""
LEEWAY_SECONDS: Final = 10.0
"""Credentials are renewed this long before they expire."""
QUOTED: Final = 500
"""How much is quoted of the end of what a plugin says."""


class PluginCredential(msgspec.Struct, frozen=True, rename="camel"):
    """The status of an ExecCredential."""

    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime.datetime | None = None


class _ExecCredential(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str
    kind: str
    status: PluginCredential | None = None


class ExecPlugin:
    """One plugin; it runs when a credential is needed and none is valid."""

    def __init__(self, selected: SelectedContext, exec: Exec, wall: Callable[[], float]) -> None:
        self._selected = selected
        self._exec = exec
        self._wall = wall
        self._printed: PluginCredential | None = None
        self._running = asyncio.Lock()
        self._check()

    async def printed(self) -> PluginCredential:
        """The last credential of the plugin while it is valid, else a new one."""
        if self._printed is not None and not self._expired(self._printed):
            return self._printed
        async with self._running:
            if self._printed is None or self._expired(self._printed):
                self._printed = self._understand(await self._run())
            return self._printed

    def forget(self) -> None:
        """Run the plugin again next time."""
        self._printed = None

    def _check(self) -> None:
        if self._exec.api_version not in VERSIONS:
            raise self._error("apiVersion", f"must be one of {', '.join(VERSIONS)}")
        if not self._exec.command:
            raise self._error("command", "missing")
        if self._exec.interactive_mode == "Always":
            problem = "a scheduler has no terminal: Always cannot be had, IfAvailable can"
            raise self._error("interactiveMode", problem)

    def _expired(self, printed: PluginCredential) -> bool:
        expires = printed.expiration_timestamp
        return expires is not None and expires.timestamp() - LEEWAY_SECONDS <= self._wall()

    async def _run(self) -> bytes:
        environment = self._environment()
        try:
            process = await asyncio.create_subprocess_exec(
                self._command(),
                *(self._exec.args or ()),
                env=environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            hint = self._exec.install_hint or "install it, put it on PATH, or name its path"
            raise self._error("command", f"{self._command()}: {error.strerror}; {hint}") from None
        except ValueError as error:  # a NUL, or a variable that cannot be one
            raise self._error("command", f"cannot be run: {error}") from None
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                out, err = await process.communicate()
        except TimeoutError:
            await _end(process)
            problem = f"{self._command()} did not end within {TIMEOUT_SECONDS:g} s"
            raise self._error("command", problem) from None
        except asyncio.CancelledError:
            await _end(process)
            raise
        if process.returncode:
            said = err.decode(errors="replace").strip()[-QUOTED:]
            problem = f"{self._command()} ended with {process.returncode}: {said}"
            raise self._error("command", problem)
        return out

    def _command(self) -> str:
        """The program: a path relative to the kubeconfig, or a name in PATH."""
        command = self._exec.command
        if os.sep in command and not os.path.isabs(command):
            return str(Path(self._selected.file).absolute().parent / command)
        return command

    def _environment(self) -> dict[str, str]:
        spec: dict[str, Any] = {"interactive": False}
        if self._exec.provide_cluster_info:
            spec["cluster"] = self._cluster_info()
        info = {"apiVersion": self._exec.api_version, "kind": "ExecCredential", "spec": spec}
        added = {variable.name: variable.value for variable in self._exec.env or ()}
        told = {"KUBERNETES_EXEC_INFO": msgspec.json.encode(info).decode()}
        return {**os.environ, **added, **told}

    def _cluster_info(self) -> dict[str, Any]:
        cluster = self._selected.cluster
        ca = cluster.certificate_authority_data
        if not ca and cluster.certificate_authority:
            ca = self._read_ca(cluster.certificate_authority)
        info = {
            "server": cluster.server,
            "tls-server-name": cluster.tls_server_name,
            "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
            "certificate-authority-data": base64.b64encode(ca).decode(),
            "proxy-url": cluster.proxy_url,
        }
        return {key: value for key, value in info.items() if value}

    def _read_ca(self, path: str) -> bytes:
        try:
            return Path(path).read_bytes()
        except OSError as error:
            raise self._error("provideClusterInfo", f"{path}: {error.strerror}") from None

    def _understand(self, out: bytes) -> PluginCredential:
        try:
            credential = msgspec.json.decode(out, type=_ExecCredential)
        except UNREADABLE as error:
            raise self._error("command", f"printed no ExecCredential: {error}") from None
        if credential.api_version != self._exec.api_version:
            problem = f"asked for {self._exec.api_version}, got {credential.api_version}"
            raise self._error("apiVersion", problem)
        status = credential.status
        if status is None or not (status.token or status.client_certificate_data):
            raise self._error("command", "printed neither a token nor a client certificate")
        if bool(status.client_certificate_data) != bool(status.client_key_data):
            raise self._error("command", "printed a client certificate or a key without the other")
        return status

    def _error(self, field: str, problem: str) -> KubeconfigError:
        place = f"user {self._selected.user_name!r}: exec.{field}"
        return KubeconfigError(self._selected.file, place, problem)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Kill a plugin and whatever it has started, which may hold its pipes for ever."""
    with contextlib.suppress(ProcessLookupError):  # it has ended, and left nobody behind
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(KILLED_SECONDS):
            await process.wait()
