import pytest

from moorage.kube.http_proxy import proxy_for, shown
from moorage.kube.kubeconfig import KubeconfigError

PROXY = "http://proxy.example:3128"
SERVER = "https://api.prod.example:6443"


@pytest.mark.parametrize(
    ("server", "no_proxy", "want"),
    [
        pytest.param(SERVER, "", PROXY, id="by default everything goes through the proxy"),
        pytest.param(SERVER, "example", None, id="a domain names the hosts under it"),
        pytest.param(SERVER, ".prod.example", None, id="a dot names subdomains"),
        pytest.param(SERVER, "*.prod.example", None, id="a star is as good as nothing"),
        pytest.param(SERVER, "rod.example", PROXY, id="half a label names nothing"),
        pytest.param(SERVER, "a.b, api.prod.example", None, id="one of several names is enough"),
        pytest.param(SERVER, "api.prod.example:443", PROXY, id="another port is another server"),
        pytest.param(SERVER, "api.prod.example:6443", None, id="the same port is the same server"),
        pytest.param(SERVER, "*", None, id="a star alone names everything"),
        pytest.param("https://10.1.2.3", "10.1.0.0/16", None, id="a network names its addresses"),
        pytest.param("https://10.2.2.3", "10.1.0.0/16", PROXY, id="and no others"),
        pytest.param("https://10.2.2.3", "10.2.2.3", None, id="an address names itself"),
        pytest.param("https://10.2.2.3", "2.3", PROXY, id="half an address names nothing"),
        pytest.param("https://127.0.0.1:1", "", None, id="this machine needs no proxy"),
        pytest.param("https://localhost:1", "", None, id="nor under its own name"),
        pytest.param("https://[::1]:1", "", None, id="nor by its IPv6 address"),
        pytest.param(SERVER, "not/a/network", PROXY, id="nonsense names nothing"),
    ],
)
def test_the_environment(server: str, no_proxy: str, want: str | None) -> None:
    assert proxy_for(server, "", {"HTTPS_PROXY": PROXY, "NO_PROXY": no_proxy}) == want


def test_the_clusters_own_proxy_counts_first() -> None:
    assert proxy_for(SERVER, "http://other:1", {"HTTPS_PROXY": PROXY, "NO_PROXY": "*"}) == (
        "http://other:1"
    )


def test_a_proxy_may_lack_its_scheme() -> None:
    assert proxy_for(SERVER, "", {"https_proxy": "proxy:1"}) == "http://proxy:1"


def test_plain_http_has_its_own_variable() -> None:
    environment = {"HTTPS_PROXY": "http://secure:1", "HTTP_PROXY": "http://plain:1"}

    assert proxy_for("http://api.example", "", environment) == "http://plain:1"


def test_without_a_proxy_there_is_none() -> None:
    assert proxy_for(SERVER, "", {}) is None


def test_a_proxy_of_another_kind_is_refused() -> None:
    with pytest.raises(KubeconfigError, match=r"proxy-url: only http:// and https://"):
        proxy_for(SERVER, "socks5://proxy:1", {})


@pytest.mark.parametrize("url", ["http://[::1", "http://proxy:many", "http://"])
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(KubeconfigError, match="proxy-url: not a URL"):
        proxy_for(SERVER, url, {})
    with pytest.raises(KubeconfigError, match="HTTPS_PROXY: not a URL"):
        proxy_for(SERVER, "", {"HTTPS_PROXY": url})


def test_a_password_is_not_shown() -> None:
    assert shown("http://me:secret@proxy:3128/") == "http://proxy:3128"
