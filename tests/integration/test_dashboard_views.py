"""A canary, adaptive strategies and a shadow in a browser, on a real API server."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.visit import PATIENCE_MS, Visit, launched, served
from tests.integration.control_plane import ControlPlane, free_ports
from tests.integration.harness import wait_for
from tests.integration.making import node, pod
from tests.integration.test_beside_kube_scheduler import THEIRS, kube_scheduler
from tests.integration.test_serving import placed, serving
from tests.integration.test_shadow import configuration

pytestmark = [pytest.mark.kube, pytest.mark.browser]
ADAPTIVE = {
    "name": "AdaptiveSchedulingPlugin",
    "args": {"strategies": {"default": {"performanceGoals": {"lossRate": 0.02}}}},
}
CANARY = {
    "apiVersion": "moorage/v1",
    "kind": "ProfileCanary",
    "metadata": {"name": "packs"},
    "spec": {
        "schedulerName": "moorage",
        "percent": 40,
        "profile": {
            "pluginConfig": [
                {
                    "name": "NodeResourcesFit",
                    "args": {"scoringStrategy": {"type": "MostAllocated"}},
                }
            ]
        },
        "rollback": {"minPods": 5, "maxLatencyRatio": None, "maxUtilisationDecrease": 0.5},
    },
}


def test_a_canary_and_adaptive_strategies_are_compared(plane: ControlPlane, tmp_path: Path) -> None:
    plane.create(*(node(f"n{each}", cpu="32") for each in range(6)))
    (plain,) = free_ports(1)
    enabled = {"multiPoint": {"enabled": [{"name": ADAPTIVE["name"], "weight": 5}]}}
    profile = {"schedulerName": "moorage", "plugins": enabled, "pluginConfig": [ADAPTIVE]}
    flags = ("--dashboard", f"--http-port={plain}", f"--record={tmp_path / 'kept'}")
    run = serving(tmp_path, plane.kubeconfig, *flags, beside=[CANARY], profiles=[profile])
    with run as (one, _), launched() as browser:
        plane.create(*(pod(f"p{each}", cpu="500m") for each in range(60)))
        wait_for(lambda: len(placed(plane)) == 60, f"not all bound; see {one.log}")
        visit = Visit(browser.new_page())
        page = visit.page
        page.set_default_timeout(PATIENCE_MS)
        page.goto(f"http://127.0.0.1:{plain}/dashboard/#/compare")
        canary = page.get_by_role("region", name="Canary of moorage")
        expect(canary).to_contain_text("packs")
        expect(canary).to_contain_text("40% of pods")
        expect(canary.get_by_role("cell", name="utilisation").first).to_be_visible()
        strategies = page.get_by_role("region", name="Adaptive strategies")
        expect(strategies.get_by_role("cell", name="default", exact=True)).to_be_visible()
        visit.picture("compare-canary")
        page.get_by_role("link", name="Health").click()
        expect(page.get_by_role("heading", name="Watches")).to_be_visible()
        visit.picture("health-run")
        assert visit.complaints == []


def test_a_shadow_is_compared_with_the_scheduler_beside_it(
    plane: ControlPlane, tmp_path: Path
) -> None:
    plane.create(*(node(f"n{each}", cpu="8") for each in range(6)))
    given = ("shadow", "--kubeconfig", str(plane.kubeconfig), "--dashboard")
    config = configuration(tmp_path / "kube-default.yaml")
    with (
        kube_scheduler(plane, tmp_path),
        served(*given, "--config", str(config)) as url,
        launched() as browser,
    ):
        visit = Visit(browser.new_page())
        page = visit.page
        page.set_default_timeout(PATIENCE_MS)
        page.goto(f"{url}#/cluster?as=table")
        expect(page.get_by_text("6 nodes, page 1 of 1")).to_be_visible()
        plane.create(*(pod(f"p{each}", scheduler=THEIRS, cpu="500m") for each in range(30)))
        wait_for(lambda: len(placed(plane)) == 30, "kube-scheduler bound nothing")
        page.goto(f"{url}#/compare")
        shadow = page.get_by_role("region", name="Shadow")
        expect(shadow).to_contain_text("kube-default")
        expect(shadow).to_contain_text("30")
        expect(page.get_by_role("region", name="KPIs")).to_contain_text("agreement")
        visit.picture("compare-shadow")
        page.goto(f"{url}#/decisions")
        expect(page.get_by_role("link", name="default/p29").first).to_be_visible()
        visit.picture("decisions-shadow")
        assert visit.complaints == []
