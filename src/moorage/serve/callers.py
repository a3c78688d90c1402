"""How a server identifies callers, what they may read, and which paths are open to all."""

from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from moorage.serve.client_certificates import ClientCertificates
from moorage.serve.request_authorizer import Authorizer, Denied

HEALTH_PATHS: Final = ("/healthz", "/readyz", "/livez")


class Callers(NamedTuple):
    """The settings of a server's gate; without an authorizer only open paths are answered."""

    authorizer: Authorizer | None
    open_paths: tuple[str, ...]
    certificates: ClientCertificates


class Caller(NamedTuple):
    """Who asks: a name, and whether he may himself do VERB to RESOURCE in NAMESPACE ("": all)."""

    name: str
    may: Callable[[str, str, str], Awaitable[bool]]

    async def must(self, verb: str, resource: str, namespace: str = "") -> None:
        """Refuse who may not do this himself: he is not answered with our rights."""
        if not await self.may(verb, resource, namespace):
            where = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
            raise Denied(403, f'Forbidden: user "{self.name}" cannot {verb} {resource} {where}\n')
