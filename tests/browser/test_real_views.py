"""Gangs, tenants, preemption and a moment of the past, as commands that were run show them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from playwright.sync_api import expect

from tests.browser.visit import Visit, served

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
GANGS: Final = Path(__file__).parents[2] / "examples" / "gangs"
QUOTAS: Final = {"ml": ("80", "120"), "web": ("8", "40"), "batch": ("16", "24")}
"""What each namespace is sure of, and the most it may have."""


def _documents() -> list[dict[str, Any]]:
    quotas = [
        {
            "apiVersion": "scheduling.x-k8s.io/v1alpha1",
            "kind": "ElasticQuota",
            "metadata": {"name": "quota", "namespace": namespace},
            "spec": {"min": {"cpu": least}, "max": {"cpu": most}},
        }
        for namespace, (least, most) in QUOTAS.items()
    ]
    return [*quotas, *(_pod("web", row) for row in range(6)), *(_pod("batch", r) for r in range(9))]


def _pod(namespace: str, number: int) -> dict[str, Any]:
    amounts = {"cpu": "4", "memory": "4Gi"}
    container = {"name": "c", "image": "app:1", "resources": {"requests": amounts}}
    metadata = {"name": f"{namespace}-{number}", "namespace": namespace}
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}
    }  # fmt: skip


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("recorded") / "run"


@pytest.fixture(scope="module")
def gangs(tmp_path_factory: pytest.TempPathFactory, recorded: Path) -> Iterator[str]:
    """The example of gangs beside tenants with quotas, simulated and recorded."""
    folder = tmp_path_factory.mktemp("tenants")
    (folder / "tenants.yaml").write_text(yaml.safe_dump_all(_documents()))
    config = yaml.safe_load((GANGS / "scheduler.yaml").read_text())
    config["profiles"][0]["plugins"] = {"multiPoint": {"enabled": [{"name": "CapacityScheduling"}]}}
    (folder / "scheduler.conf").write_text(yaml.safe_dump(config))
    given = [str(GANGS / "cluster"), str(GANGS / "workloads"), str(folder / "tenants.yaml")]
    flags = ["--config", str(folder / "scheduler.conf"), "--record", str(recorded), "--serve"]
    with served("simulate", *given, *flags) as url:
        yield url


def test_gangs_show_their_progress_and_tenants_their_shares_and_what_they_borrow(
    gangs: str, visit: Visit
) -> None:
    """A share is that of the resource a tenant has most of: ml has 32 of 40 GPUs, others CPU."""
    page = visit.page
    page.goto(f"{gangs}#/queue")
    groups, tenants = (page.get_by_role("region", name=each) for each in ("Gangs", "Tenants"))

    expect(groups).to_contain_text("ml/tuning")
    expect(groups.get_by_text("12 of 12 members bound")).to_have_count(1)
    expect(groups.get_by_text("0 of 12 members bound")).to_have_count(1)
    expect(groups.get_by_text("4 of the 12 pods needed fit")).to_be_visible()
    expect(tenants).to_contain_text("borrowed")
    expect(tenants.get_by_role("img", name="cpu: 20 of 40, 12 borrowed")).to_be_visible()
    for tenant, part in (("ml", 32 / 40), ("web", 20 / 320), ("batch", 16 / 320)):
        row = tenants.locator(".inside").filter(has_text=tenant)
        expect(row).to_contain_text(f"share {part:.0%}")
    visit.picture("queue-gangs")
    page.goto(f"{gangs}#/cluster?colour=gpu&by=label:example.com/rack")
    expect(page.get_by_text("GPU requested").first).to_be_attached()
    visit.picture("cluster-gpu")
    assert visit.complaints == []


def test_a_gang_that_waits_says_why_on_the_page_of_its_pod(gangs: str, visit: Visit) -> None:
    page = visit.page
    page.goto(f"{gangs}#/queue")
    page.get_by_role("table", name="Pods that wait").get_by_role("link").first.click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("/")
    visit.picture("pod-gang")
    assert visit.complaints == []


def test_a_recording_shows_its_decisions_and_the_cluster_of_a_moment(
    gangs: str, recorded: Path, visit: Visit
) -> None:
    page = visit.page
    page.goto(f"{gangs}#/decisions")
    expect(page.get_by_role("table", name="Decisions").locator("tbody tr")).not_to_have_count(0)
    visit.picture("decisions-simulated")
    with served("replay", str(recorded), "--until", "#12", "--dashboard") as url:
        page.goto(f"{url}#/decisions")
        expect(page.get_by_role("table", name="Decisions").locator("tbody tr")).to_have_count(12)
        expect(page.locator("#about")).to_contain_text("replay")
        expect(page.locator("#link")).to_have_text("as it was")
        expect(page.get_by_role("button", name="Pause")).to_be_hidden()
        visit.picture("decisions-replay")
        page.goto(f"{url}#/cluster?as=table")
        expect(page.get_by_text("5 nodes, page 1 of 1")).to_be_visible()
        page.goto(f"{url}#/queue")
        visit.picture("queue-replay")
        page.goto(f"{url}#/compare")
        visit.picture("compare-replay")

    assert visit.complaints == []


def _preempting() -> list[dict[str, Any]]:
    """Two nodes that are full, and a pod that matters more than what is there."""
    nodes = [
        {
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
            "status": {"allocatable": {"cpu": "8", "memory": "32Gi", "pods": "20"}},
        }
        for name in ("node-a", "node-b")
    ]  # fmt: skip
    high = {
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
        "metadata": {"name": "serving"}, "value": 1000,
    }  # fmt: skip
    running = [_pod("batch", number) for number in range(4)]
    for number, each in enumerate(running):
        each["spec"]["nodeName"] = f"node-{'aabb'[number]}"
        each["status"] = {"phase": "Running"}
    urgent = _pod("web", 0)
    urgent["spec"] |= {"priorityClassName": "serving"}
    urgent["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "6"}
    return [high, *nodes, *running, urgent]


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crowded")
    (folder / "cluster.yaml").write_text(yaml.safe_dump_all(_preempting()))
    return folder


def test_a_preemptor_names_its_victims_and_they_say_for_whom_they_left(
    crowded: Path, visit: Visit
) -> None:
    page, recording = visit.page, str(crowded / "run")
    preemption = page.get_by_role("region", name="Preemption")
    given = ["simulate", str(crowded / "cluster.yaml"), "--record", recording, "--serve"]
    with served(*given) as url:
        page.goto(f"{url}#/pod/web/web-0")
        expect(page.get_by_role("heading", level=1)).to_have_text("web/web-0")
        expect(preemption).to_contain_text("2 victims for it, of priority 0")
        rows = preemption.get_by_role("listitem")
        expect(rows).to_have_count(2)
        visit.picture("pod-preemptor")
        victim = rows.first.get_by_role("link").first
        name = victim.inner_text()
        victim.click()

        expect(page.get_by_role("heading", level=1)).to_have_text(name)
        expect(page.get_by_text("gone", exact=True)).to_be_visible()
        expect(preemption).to_contain_text("It left node-")
        expect(preemption).to_contain_text("for web/web-0")
        expect(preemption).to_contain_text("to accommodate a higher priority pod")
        expect(preemption).to_contain_text("Its priority is 0, the other's 1,000.")
        expect(preemption.locator("time")).to_have_count(1)
        visit.picture("pod-victim")
        assert visit.complaints == []
        page.goto("about:blank")
    with served("replay", recording, "--dashboard") as url:
        page.goto(f"{url}#/pod/{name}")
        expect(preemption).to_contain_text("It was chosen to leave node-")
        preemption.get_by_role("link", name="web/web-0").click()
        expect(preemption.get_by_role("listitem").filter(has_text=name)).to_contain_text("chosen")

    assert visit.complaints == []
