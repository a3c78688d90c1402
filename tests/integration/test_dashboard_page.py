"""The page of the dashboard in a browser, on a scheduler that works for a real API server."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.visit import PATIENCE_MS, Visit, launched
from tests.integration.control_plane import ControlPlane, free_ports
from tests.integration.harness import wait_for
from tests.integration.making import node, pod
from tests.integration.test_dashboard import may_look, token
from tests.integration.test_serving import get, placed, serving

pytestmark = [pytest.mark.kube, pytest.mark.browser]
__all__ = ["token"]


def test_the_page_follows_the_cluster(plane: ControlPlane, tmp_path: Path) -> None:
    plane.create(node("n1"), node("n2"), pod("web", cpu="1"), pod("huge", cpu="64"))
    (plain,) = free_ports(1)
    home = f"http://127.0.0.1:{plain}/dashboard/"
    flags = ("--dashboard", "--enable-explain", f"--http-port={plain}")
    with serving(tmp_path, plane.kubeconfig, *flags), launched() as browser:
        wait_for(lambda: placed(plane) == {"web"}, "not bound")
        visit = Visit(browser.new_page())
        page = visit.page
        page.set_default_timeout(PATIENCE_MS)
        page.goto(f"{home}#/cluster?as=table")
        expect(page.get_by_text("2 nodes, page 1 of 1")).to_be_visible()
        expect(page.locator("#link")).to_have_text("live")
        page.get_by_role("link", name="Queue").click()
        page.get_by_role("link", name="default/huge").click()
        expect(page.get_by_text("2 Insufficient cpu").first).to_be_visible()
        expect(page.get_by_text("What would help")).to_be_visible()
        page.get_by_role("link", name="Decisions").click()
        expect(page.get_by_role("link", name="default/web").first).to_be_visible()

        plane.create(pod("late", cpu="1"))
        expect(page.get_by_role("link", name="default/late").first).to_be_visible()
        page.get_by_role("link", name="Health").click()
        expect(page.get_by_role("heading", name="Watches")).to_be_visible()
        assert visit.complaints == []
        assert visit.strangers(home) == []


def test_who_pastes_a_token_sees_what_it_lets_him_see(
    plane: ControlPlane, token: str, tmp_path: Path
) -> None:
    plane.create(node("n1"), node("n2"))
    with serving(tmp_path, plane.kubeconfig, "--dashboard") as (_, port), launched() as browser:
        home = f"https://127.0.0.1:{port}/dashboard/"
        context = browser.new_context(ignore_https_errors=True)
        context.set_default_timeout(PATIENCE_MS)
        visit = Visit(context.new_page())
        page = visit.page
        page.goto(f"{home}#/cluster?as=table")
        field = page.get_by_label("Bearer token")

        field.fill("not-a-token")
        field.press("Enter")
        expect(page.get_by_text("does not accept this token")).to_be_visible()
        field.fill(token)
        field.press("Enter")
        expect(page.get_by_text("may not see the dashboard")).to_be_visible()
        may_look(plane)
        wait_for(lambda: get(port, "/dashboard/api/about", token).status == 200, "never let in")
        field.fill(f"Bearer {token}")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_text("2 nodes, page 1 of 1")).to_be_visible()
        expect(page.locator("#link")).to_have_text("live")
        page.reload()
        expect(page.get_by_text("2 nodes, page 1 of 1")).to_be_visible()

        assert context.cookies() == []
        assert not any(token in url for url in visit.asked)
        assert visit.strangers(home) == []
        elsewhere = context.new_page()
        elsewhere.goto(home)
        expect(elsewhere.get_by_label("Bearer token")).to_be_visible()
        page.get_by_role("button", name="Sign out").click()
        expect(field).to_be_visible()
        assert page.evaluate("sessionStorage.length") == 0
