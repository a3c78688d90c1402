"""Credentials of a kubeconfig user: a token, a token file, or a credential plugin."""

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

import msgspec

from moorage.kube.exec_plugin import ExecPlugin
from moorage.kube.kubeconfig import KubeconfigError, SelectedContext
from moorage.kube.tls import Certificate

REREAD_SECONDS: Final = 60.0
"""How long a token is used before its file is read again; kubelet renews it in good time."""


class Credential(msgspec.Struct, frozen=True):
    """What identifies the caller: the Authorization header and, from plugins, a certificate."""

    authorization: str = ""
    certificate: Certificate | None = None


class Credentials(Protocol):
    """Where credentials come from."""

    async def current(self) -> Credential:
        """The credential to use now."""
        ...

    def refused(self) -> None:
        """Get new credentials next time: the server refused these."""
        ...


class StaticCredentials:
    """Credentials that never change."""

    def __init__(self, credential: Credential) -> None:
        self._credential = credential

    async def current(self) -> Credential:
        return self._credential

    def refused(self) -> None:
        """Does nothing: there are no others."""


class TokenFileCredentials:
    """A token in a file that is renewed from time to time."""

    def __init__(self, path: str, now: Callable[[], float], where: tuple[str, str]) -> None:
        self._path = Path(path)
        self._now = now
        self._where = where
        self._credential: Credential | None = None
        self._read_at = 0.0

    async def current(self) -> Credential:
        if self._credential is None or self._now() - self._read_at >= REREAD_SECONDS:
            self._read()
        return self._credential or Credential()

    def refused(self) -> None:
        self._read_at = self._now() - REREAD_SECONDS

    def _read(self) -> None:
        """Take what the file holds; where that is no token, the last one serves on."""
        try:
            self._credential, self._read_at = self._held(), self._now()
        except KubeconfigError:
            if self._credential is None:
                raise

    def _held(self) -> Credential:
        try:
            token = self._path.read_text(errors="replace").strip()
        except OSError as error:
            raise KubeconfigError(*self._where, f"{self._path}: {error.strerror}") from None
        if not token:
            raise KubeconfigError(*self._where, f"{self._path}: the file is empty")
        return bearer(token, self._where)


class ExecPluginCredentials:
    """Credentials that a program prints."""

    def __init__(self, plugin: ExecPlugin, where: tuple[str, str]) -> None:
        self._plugin = plugin
        self._where = where

    async def current(self) -> Credential:
        printed = await self._plugin.printed()
        certificate = None
        if printed.client_certificate_data:
            certificate = Certificate(
                printed.client_certificate_data.encode(), printed.client_key_data.encode()
            )
        token = bearer(printed.token, self._where) if printed.token else Credential()
        return Credential(token.authorization, certificate)

    def refused(self) -> None:
        self._plugin.forget()


def bearer(token: str, where: tuple[str, str]) -> Credential:
    """A token as an Authorization header; it must not contain a line break."""
    if not (token.isascii() and token.isprintable()):
        raise KubeconfigError(*where, "a token holds printable characters only, and no line break")
    return Credential(f"Bearer {token}")


def credentials_of(
    selected: SelectedContext, now: Callable[[], float], wall: Callable[[], float]
) -> Credentials:
    """The credentials of a kubeconfig's user, in client-go's order of precedence."""
    user, place = selected.user, f"user {selected.user_name!r}"
    if user.auth_provider is not None:
        hint = "use an exec plugin, or a token"
        problem = f"auth providers were removed from Kubernetes clients; {hint}"
        raise KubeconfigError(selected.file, f"{place}: auth-provider", problem)
    if user.token_file:
        where = (selected.file, f"{place}: tokenFile")
        return TokenFileCredentials(user.token_file, now, where)
    if user.token:
        return StaticCredentials(bearer(user.token, (selected.file, f"{place}: token")))
    if user.username:
        pair = base64.b64encode(f"{user.username}:{user.password}".encode()).decode()
        return StaticCredentials(Credential(f"Basic {pair}"))
    if user.exec is not None:
        where = (selected.file, f"{place}: exec")
        return ExecPluginCredentials(ExecPlugin(selected, user.exec, wall), where)
    return StaticCredentials(Credential())
