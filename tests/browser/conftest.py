"""A browser, a dashboard of a simulated cluster of 5,000 nodes, and one of made-up data."""

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize

from tests.browser.stub_dashboard import StubDashboard
from tests.browser.visit import PATIENCE_MS, Visit, launched, served

NODES: Final = 5000
LAPTOP: Final = ViewportSize(width=1440, height=900)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with launched() as browser:
        yield browser


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport=LAPTOP, color_scheme="light")
    context.set_default_timeout(PATIENCE_MS)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()


@pytest.fixture
def visit(page: Page) -> Visit:
    return Visit(page)


@pytest.fixture
def stub() -> Iterator[StubDashboard]:
    stub = StubDashboard()
    stub.start()
    yield stub
    stub.stop()


@pytest.fixture(scope="package")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of `moorage simulate --serve` on a cluster of 5,000 nodes."""
    folder = tmp_path_factory.mktemp("cluster")
    (folder / "cluster.json").write_text(json.dumps(_cluster()))
    with served("simulate", str(folder), "--no-validate", "--serve") as url:
        yield url


def _cluster() -> dict[str, Any]:
    pods = [_pod("shop", f"web-{each}", {"cpu": "2", "memory": "4Gi"}) for each in range(120)] + [
        _pod("ml", f"huge-{each}", {"cpu": "400"}) for each in range(8)
    ]
    nodes = [_node(row) for row in range(NODES)]
    return {"apiVersion": "v1", "kind": "List", "items": [*nodes, *pods]}


def _node(row: int) -> dict[str, Any]:
    amounts = {"cpu": str(8 << row % 3), "memory": "64Gi", "pods": "110"}
    labels = {
        "topology.kubernetes.io/zone": f"zone-{'abc'[row % 3]}",
        "node.kubernetes.io/instance-type": f"m{row % 3}",
        "example.com/rack": f"rack-{row % 20}",
    }
    return {
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": f"node-{row:04d}", "labels": labels},
        "status": {"capacity": amounts, "allocatable": amounts},
    }  # fmt: skip


def _pod(namespace: str, name: str, requests: dict[str, str]) -> dict[str, Any]:
    container = {"name": "c", "image": "app:1", "resources": {"requests": requests}}
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace},
        "spec": {"containers": [container]},
    }  # fmt: skip
