"""Manifests of a live cluster, whatever schedules it, read with list requests alone.

It never lists Secrets, ConfigMaps, Events and Leases, and it removes private fields.
"""

import asyncio
from typing import Any, Final

from moorage.app.assembly import OPTIONAL
from moorage.config.field_errors import InputError
from moorage.kube.kube_api_server import KubeApiServer
from moorage.kube.kubeconfig import KubeconfigError, SelectedContext
from moorage.memory.cluster_resources import KEPT_RESOURCES
from moorage.simulate.manifest_files import Manifest
from moorage.simulate.private_fields import remove_private_fields
from moorage.watch.api_errors import ApiError, Forbidden, Gone, NotFound
from moorage.watch.api_resources import Resource

PAGE: Final = 500
NEEDED: Final = frozenset({"nodes", "pods"})
_LEFT_OUT: Final = frozenset({"events", "leases", "configmaps"})


def read_cluster(selected: SelectedContext, skipped: list[str]) -> list[Manifest]:
    """Every object that scheduling reads; `skipped` gets a line per resource it may not list."""
    return asyncio.run(_read(selected, skipped))


async def _read(selected: SelectedContext, skipped: list[str]) -> list[Manifest]:
    try:
        server = KubeApiServer(selected, qps=0, selectors={})
    except KubeconfigError as error:
        raise InputError([str(error)]) from None
    try:
        lists = [_first_served(server, versions, skipped) for versions in _wanted()]
        return [each for found in await asyncio.gather(*lists) for each in found]
    except ApiError as error:
        raise InputError([f"{server.url}: {error}"]) from None
    finally:
        await server.close()


def _wanted() -> list[tuple[Resource, ...]]:
    """Each resource to list, with all of its versions if it has several."""
    several = {resource.plural: versions for versions in OPTIONAL for resource in versions}
    plurals = [plural for plural in KEPT_RESOURCES if plural not in _LEFT_OUT]
    return [several.get(plural, (KEPT_RESOURCES[plural],)) for plural in plurals]


async def _first_served(
    server: KubeApiServer, versions: tuple[Resource, ...], skipped: list[str]
) -> list[Manifest]:
    for resource in versions:
        try:
            return await _whole_list(server, resource)
        except NotFound:
            continue
        except Forbidden as error:
            if resource.plural in NEEDED:
                raise
            skipped.append(f"{resource.qualified} are left out: {error}")
            return []
    return []


async def _whole_list(server: KubeApiServer, resource: Resource) -> list[Manifest]:
    """All pages of a list; in one request if a page token expires before it is used."""
    try:
        return await _listed(server, resource, PAGE)
    except Gone:
        return await _listed(server, resource, 0)


async def _listed(server: KubeApiServer, resource: Resource, limit: int) -> list[Manifest]:
    found: list[Manifest] = []
    token = ""
    while True:
        page = await server.list_raw(resource, limit=limit, continue_token=token)
        for item in page.get("items") or ():
            remove_private_fields(item)
            raw: dict[str, Any] = {
                "apiVersion": resource.api_version,
                "kind": resource.kind,
                **item,
            }
            found.append(Manifest(raw, f"{server.url}{resource.path()}", 1, len(found)))
        token = str((page.get("metadata") or {}).get("continue") or "")
        if not token:
            return found
