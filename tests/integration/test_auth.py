"""Getting to a real API server, and being known there."""

import asyncio
import base64
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from moorage.kube import kubeconfig
from moorage.kube.kube_api_server import KubeApiServer
from moorage.watch.api_errors import ApiError, Forbidden, Unauthorized, Unreachable
from moorage.watch.api_resources import NAMESPACES, NODES
from tests.integration.control_plane import ControlPlane
from tests.integration.making import node
from tests.integration.proxying import tunnel

pytestmark = pytest.mark.kube


def written(plane: ControlPlane, folder: Path, user: Any, **cluster: Any) -> Path:
    """A kubeconfig with that user; the cluster is the plane, but for what is given."""
    cluster = {"server": plane.url, "certificate-authority": str(plane.ca_file), **cluster}
    document = {
        "clusters": [{"name": "c", "cluster": {k: v for k, v in cluster.items() if v}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "here",
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(document))
    return path


async def use(file: Path) -> None:
    """A list, a read, a write and a watch: every way to the server."""
    server = KubeApiServer(kubeconfig.load_kubeconfig([file]), qps=0, request_seconds=10)
    try:
        page = await server.list_page(NAMESPACES, limit=1)
        await server.get(NAMESPACES, "", "default")
        await server.create(NODES, node("n1"))
        await server.delete(NODES, "", "n1")
        async for _ in server.watch(
            NODES, resource_version=page.resource_version, timeout_seconds=1
        ):
            pass
    finally:
        await server.close()


def test_a_client_certificate_in_files(plane: ControlPlane, tmp_path: Path) -> None:
    cert, key = plane.client_certificate("alice", "system:masters")
    user = {"client-certificate": str(cert), "client-key": str(key)}

    asyncio.run(use(written(plane, tmp_path, user)))


def test_a_client_certificate_as_data(plane: ControlPlane, tmp_path: Path) -> None:
    cert, key = plane.client_certificate("bob", "system:masters")
    user = {
        "client-certificate-data": base64.b64encode(cert.read_bytes()).decode(),
        "client-key-data": base64.b64encode(key.read_bytes()).decode(),
    }

    asyncio.run(use(written(plane, tmp_path, user)))


def test_a_token_in_a_file(plane: ControlPlane, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(plane.token + "\n")

    asyncio.run(use(written(plane, tmp_path, {"tokenFile": "token"})))


@pytest.mark.parametrize("prints", ["token", "certificate"])
def test_a_credential_plugin(plane: ControlPlane, tmp_path: Path, prints: str) -> None:
    status = {"token": plane.token}
    if prints == "certificate":
        cert, key = plane.client_certificate("carol", "system:masters")
        status = {
            "clientCertificateData": cert.read_text(),
            "clientKeyData": key.read_text(),
        }
    version = "client.authentication.k8s.io/v1"
    printed = {"apiVersion": version, "kind": "ExecCredential", "status": status}
    (tmp_path / "printed.json").write_text(json.dumps(printed))
    code = f"print(open({str(tmp_path / 'printed.json')!r}).read())"
    plugin = {"apiVersion": version, "command": sys.executable, "args": ["-c", code]}

    asyncio.run(use(written(plane, tmp_path, {"exec": plugin})))


def test_the_server_may_be_known_by_another_name(plane: ControlPlane, tmp_path: Path) -> None:
    user = {"token": plane.token}
    name = {"tls-server-name": "kubernetes.default.svc"}

    asyncio.run(use(written(plane, tmp_path, user, **name)))


def test_the_server_may_be_trusted_unseen(plane: ControlPlane, tmp_path: Path) -> None:
    unseen = {"insecure-skip-tls-verify": True, "certificate-authority": ""}

    asyncio.run(use(written(plane, tmp_path, {"token": plane.token}, **unseen)))


def test_a_proxy_on_the_way(plane: ControlPlane, tmp_path: Path) -> None:
    asked: list[str] = []

    async def main() -> None:
        async with tunnel(asked) as url:
            file = written(plane, tmp_path, {"token": plane.token}, **{"proxy-url": url})
            await use(file)

    asyncio.run(main())
    assert asked
    assert set(asked) == {f"CONNECT 127.0.0.1:{plane.port} HTTP/1.1"}


@pytest.mark.parametrize(
    ("user", "cluster", "error", "said"),
    [
        pytest.param({"token": "wrong"}, {}, Unauthorized, "Unauthorized", id="a wrong token"),
        pytest.param(
            {"token": "", "as": "eve"},
            {},
            Forbidden,
            "impersonate",
            id="somebody who may not be another",
        ),
        pytest.param(
            {"token": ""},
            {"certificate-authority": ""},
            Unreachable,
            "CERTIFICATE_VERIFY_FAILED",
            id="a server nobody vouches for",
        ),
        pytest.param(
            {"token": ""},
            {"tls-server-name": "another.example"},
            Unreachable,
            "another.example",
            id="a server of another name",
        ),
    ],
)
def test_what_does_not_work_is_told(
    plane: ControlPlane,
    tmp_path: Path,
    user: dict[str, str],
    cluster: dict[str, str],
    error: type[ApiError],
    said: str,
) -> None:
    file = written(plane, tmp_path, user, **cluster)

    with pytest.raises(error, match=said):
        asyncio.run(use(file))


def test_an_administrator_may_act_as_another(plane: ControlPlane, tmp_path: Path) -> None:
    user = {"token": plane.token, "as": "eve", "as-groups": ["nobodies"]}
    file = written(plane, tmp_path, user)

    with pytest.raises(Forbidden, match='User "eve" cannot list resource "namespaces"'):
        asyncio.run(use(file))
    asyncio.run(use(written(plane, tmp_path, {**user, "as-groups": ["system:masters"]})))
