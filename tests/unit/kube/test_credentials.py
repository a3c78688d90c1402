"""Credentials: fixed, from files that change, from programs that print them."""

import asyncio
import base64
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from moorage.kube.access import Access
from moorage.kube.credentials import Credential, Credentials, credentials_of
from moorage.kube.kubeconfig import (
    Cluster,
    Exec,
    ExecVariable,
    KubeconfigError,
    SelectedContext,
    User,
)

V1 = "client.authentication.k8s.io/v1"


class Time:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def selected(user: User, file: str = "config", cluster: Cluster | None = None) -> SelectedContext:
    return SelectedContext("here", "one", "alice", cluster or Cluster(), user, file)


def current(credentials: Credentials) -> Credential:
    return asyncio.run(credentials.current())


@pytest.mark.parametrize(
    ("user", "want"),
    [
        pytest.param(User(), "", id="nobody says nothing"),
        pytest.param(User(token="t"), "Bearer t", id="a token"),
        pytest.param(
            User(username="a", password="b"),
            f"Basic {base64.b64encode(b'a:b').decode()}",
            id="a name and a password",
        ),
        pytest.param(
            User(token="t", exec=Exec("nothing")), "Bearer t", id="a token goes before a plugin"
        ),
    ],
)
def test_fixed_credentials(user: User, want: str) -> None:
    credentials = credentials_of(selected(user), Time(), Time())
    credentials.refused()

    assert current(credentials).authorization == want


@pytest.mark.parametrize("token", ["two\nlines", "nul\0", "ümlaut"])
def test_a_token_that_would_break_a_header_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(KubeconfigError, match="user 'alice': token: a token holds") as caught:
        credentials_of(selected(User(token=token)), Time(), Time())

    assert token not in str(caught.value)


def test_auth_providers_are_refused_with_a_remedy() -> None:
    with pytest.raises(KubeconfigError, match=r"user 'alice': auth-provider: .*exec plugin"):
        credentials_of(selected(User(auth_provider={"name": "gcp"})), Time(), Time())


class TestTokenFile:
    """A token in a file that kubelet renews."""

    def made(self, path: Path, time: Time) -> Credentials:
        path.write_text("first\n")
        return credentials_of(selected(User(token="t", token_file=str(path))), time, time)

    def test_it_goes_before_a_token(self, tmp_path: Path) -> None:
        credentials = self.made(tmp_path / "token", Time())

        assert current(credentials).authorization == "Bearer first"

    def test_it_is_read_again_after_a_minute(self, tmp_path: Path) -> None:
        path, time = tmp_path / "token", Time()
        credentials = self.made(path, time)
        current(credentials)
        path.write_text("second")

        time.now += 59
        assert current(credentials).authorization == "Bearer first"
        time.now += 1
        assert current(credentials).authorization == "Bearer second"

    def test_it_is_read_again_when_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "token"
        credentials = self.made(path, Time())
        current(credentials)
        path.write_text("second")
        credentials.refused()

        assert current(credentials).authorization == "Bearer second"

    @pytest.mark.parametrize(
        "left",
        [
            pytest.param(None, id="missing"),
            pytest.param(b"", id="empty"),
            pytest.param(b"\xff\xfe", id="no text"),
            pytest.param(b"two\nlines", id="no token"),
        ],
    )
    def test_the_last_token_serves_while_the_file_cannot_be_read(
        self, tmp_path: Path, left: bytes | None
    ) -> None:
        path = tmp_path / "token"
        credentials = self.made(path, Time())
        current(credentials)
        path.unlink() if left is None else path.write_bytes(left)
        credentials.refused()

        assert current(credentials).authorization == "Bearer first"

    def test_a_file_that_never_was_is_named(self, tmp_path: Path) -> None:
        user = User(token_file=str(tmp_path / "none"))

        with pytest.raises(KubeconfigError, match=r"config: user 'alice': tokenFile: .*none: No"):
            current(credentials_of(selected(user), Time(), Time()))

    def test_a_file_that_never_held_a_token_is_named(self, tmp_path: Path) -> None:
        path = tmp_path / "token"
        path.write_bytes(b"\xff\xfe")

        credentials = credentials_of(selected(User(token_file=str(path))), Time(), Time())
        with pytest.raises(KubeconfigError, match="tokenFile: a token holds printable"):
            current(credentials)

    def test_a_file_that_was_always_empty_is_named(self, tmp_path: Path) -> None:
        path = tmp_path / "token"
        path.write_text("\n")

        credentials = credentials_of(selected(User(token_file=str(path))), Time(), Time())
        with pytest.raises(KubeconfigError, match="the file is empty"):
            current(credentials)


class TestExecPlugin:
    """A program that prints an ExecCredential, and counts how often it was run."""

    def made(
        self,
        tmp_path: Path,
        printed: dict[str, Any] | str,
        time: Time | None = None,
        **settings: Any,
    ) -> Credentials:
        text = printed if isinstance(printed, str) else json.dumps(printed)
        (tmp_path / "printed").write_text(text)
        script = tmp_path / "plugin.py"
        script.write_text(
            "import os, sys\n"
            f"open({str(tmp_path / 'runs')!r}, 'a').write('run\\n')\n"
            f"open({str(tmp_path / 'info')!r}, 'w').write(os.environ['KUBERNETES_EXEC_INFO'])\n"
            f"open({str(tmp_path / 'extra')!r}, 'w').write(os.environ.get('EXTRA', ''))\n"
            f"print(open({str(tmp_path / 'printed')!r}).read())\n"
            "sys.stderr.write('who are you?')\n"
            "sys.exit(int(sys.argv[1]) if len(sys.argv) > 1 else 0)\n"
        )
        given = {"command": sys.executable, "args": (str(script),), "api_version": V1} | settings
        cluster = Cluster(server="https://one", certificate_authority_data=b"ca")
        file = str(tmp_path / "config")
        user = User(exec=Exec(**given))
        return credentials_of(selected(user, file, cluster), Time(), time or Time())

    def runs(self, tmp_path: Path) -> int:
        return len((tmp_path / "runs").read_text().splitlines())

    def test_its_token_is_used_and_kept(self, tmp_path: Path) -> None:
        credentials = self.made(tmp_path, credential(token="t"))

        assert current(credentials).authorization == "Bearer t"
        assert current(credentials).authorization == "Bearer t"
        assert self.runs(tmp_path) == 1

    def test_it_runs_again_shortly_before_its_token_expires(self, tmp_path: Path) -> None:
        time = Time()
        printed = credential(token="t", expirationTimestamp="1970-01-01T00:18:00Z")  # 1080 s
        credentials = self.made(tmp_path, printed, time)
        current(credentials)
        time.now = 1_069.0
        current(credentials)
        assert self.runs(tmp_path) == 1

        time.now = 1_070.0
        current(credentials)
        assert self.runs(tmp_path) == 2

    def test_it_runs_again_when_refused(self, tmp_path: Path) -> None:
        credentials = self.made(tmp_path, credential(token="t"))
        current(credentials)
        credentials.refused()
        current(credentials)

        assert self.runs(tmp_path) == 2

    def test_many_requests_at_once_run_it_once(self, tmp_path: Path) -> None:
        credentials = self.made(tmp_path, credential(token="t"))

        async def many() -> None:
            await asyncio.gather(*(credentials.current() for _ in range(5)))

        asyncio.run(many())
        assert self.runs(tmp_path) == 1

    def test_it_may_print_a_certificate(self, tmp_path: Path) -> None:
        printed = credential(clientCertificateData="CERT", clientKeyData="KEY")
        found = current(self.made(tmp_path, printed))

        assert found.authorization == ""
        assert found.certificate is not None
        assert (found.certificate.certificate, found.certificate.key) == (b"CERT", b"KEY")

    def test_it_is_told_of_the_cluster_where_it_asks(self, tmp_path: Path) -> None:
        variables = (ExecVariable("EXTRA", "here"),)
        current(
            self.made(tmp_path, credential(token="t"), provide_cluster_info=True, env=variables)
        )

        info = json.loads((tmp_path / "info").read_text())
        assert info["apiVersion"] == V1
        assert info["spec"] == {
            "interactive": False,
            "cluster": {"server": "https://one", "certificate-authority-data": "Y2E="},
        }
        assert (tmp_path / "extra").read_text() == "here"

    def test_a_relative_path_is_relative_to_the_kubeconfig(self, tmp_path: Path) -> None:
        (tmp_path / "bin").mkdir()
        program = tmp_path / "bin" / "login"
        program.write_text(f"#!/bin/sh\necho '{json.dumps(credential(token='t'))}'\n")
        program.chmod(0o755)
        credentials = self.made(tmp_path, "", command="bin/login", args=None)

        assert current(credentials).authorization == "Bearer t"

    @pytest.mark.parametrize(
        ("settings", "want"),
        [
            pytest.param(
                {"args": ("a\0b",)}, "exec.command: cannot be run: embedded null", id="a NUL"
            ),
            pytest.param(
                {"env": (ExecVariable("A=", "b"),)},
                "exec.command: cannot be run: illegal environment variable",
                id="a variable that cannot be one",
            ),
        ],
    )
    def test_what_cannot_be_run_is_named(
        self, tmp_path: Path, settings: dict[str, Any], want: str
    ) -> None:
        with pytest.raises(KubeconfigError, match=want):
            current(self.made(tmp_path, "", **settings))

    def test_an_authority_that_is_gone_is_named(self, tmp_path: Path) -> None:
        user = User(exec=Exec("login", V1, provide_cluster_info=True))
        cluster = Cluster(certificate_authority=str(tmp_path / "ca.crt"))
        credentials = credentials_of(selected(user, cluster=cluster), Time(), Time())

        with pytest.raises(KubeconfigError, match=r"exec\.provideClusterInfo: .*ca\.crt: No such"):
            current(credentials)

    def test_bytes_that_are_no_text_are_told(self, tmp_path: Path) -> None:
        credentials = self.made(tmp_path, "", command="printf", args=('{"apiVersion":"\\377"}',))

        with pytest.raises(KubeconfigError, match="printed no ExecCredential: 'utf-8'"):
            current(credentials)

    def test_a_program_that_hangs_is_given_up_with_all_it_has_started(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A shell that waits for another program, which keeps the pipe open when it is killed."""
        monkeypatch.setattr("moorage.kube.exec_plugin.TIMEOUT_SECONDS", 1.0)
        pid = tmp_path / "pid"
        script = f"sleep 600 & echo $! > {pid}.new && mv {pid}.new {pid}; wait"
        credentials = self.made(tmp_path, "", command="sh", args=("-c", script))

        with pytest.raises(KubeconfigError, match=r"sh did not end within 1 s"):
            current(credentials)
        assert is_gone(int(pid.read_text()))

    @pytest.mark.parametrize(
        ("settings", "want"),
        [
            pytest.param({"api_version": "v9"}, "exec.apiVersion: must be one of", id="a version"),
            pytest.param({"command": ""}, "exec.command: missing", id="no program"),
            pytest.param(
                {"interactive_mode": "Always"}, "exec.interactiveMode: a scheduler", id="a terminal"
            ),
        ],
    )
    def test_settings_that_cannot_work(
        self, tmp_path: Path, settings: dict[str, Any], want: str
    ) -> None:
        with pytest.raises(KubeconfigError, match=want):
            self.made(tmp_path, "", **settings)

    @pytest.mark.parametrize(
        ("printed", "want"),
        [
            pytest.param("nonsense", "printed no ExecCredential", id="nonsense"),
            pytest.param({"apiVersion": V1, "kind": "x"}, "neither a token nor", id="nothing"),
            pytest.param(
                {"apiVersion": "v2", "kind": "x"}, f"asked for {V1}, got v2", id="another version"
            ),
            pytest.param(
                {"apiVersion": V1, "kind": "x", "status": {"clientCertificateData": "C"}},
                "without the other",
                id="half a certificate",
            ),
        ],
    )
    def test_what_it_may_not_print(
        self, tmp_path: Path, printed: dict[str, Any] | str, want: str
    ) -> None:
        with pytest.raises(KubeconfigError, match=want):
            current(self.made(tmp_path, printed))

    def test_a_program_that_fails_is_quoted(self, tmp_path: Path) -> None:
        script = str(tmp_path / "plugin.py")
        credentials = self.made(tmp_path, "", args=(script, "3"))

        with pytest.raises(KubeconfigError, match=r"ended with 3: who are you\?"):
            current(credentials)

    def test_a_program_that_is_not_there_brings_its_hint(self, tmp_path: Path) -> None:
        credentials = self.made(
            tmp_path, "", command="no-such-login", install_hint="run: install login"
        )

        with pytest.raises(KubeconfigError, match=r"no-such-login: No such file.*install login"):
            current(credentials)


def credential(**status: str) -> dict[str, Any]:
    return {"apiVersion": V1, "kind": "ExecCredential", "status": status}


def is_gone(pid: int) -> bool:
    """Whether a process has ended, or waits for nobody but the one who buries it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except FileNotFoundError:
        return True


@pytest.mark.parametrize(
    ("cluster", "want"),
    [
        pytest.param(Cluster("https://api.example"), "Bearer t", id="over TLS it is shown"),
        pytest.param(Cluster("http://127.0.0.1:1"), "Bearer t", id="and on this machine"),
        pytest.param(Cluster("http://api.example"), "", id="never in clear text to another"),
        pytest.param(
            Cluster("http://127.0.0.1:1", proxy_url="http://other.example:3128"),
            "",
            id="nor to a proxy",
        ),
    ],
)
def test_a_token_leaves_this_machine_over_tls_only(
    cluster: Cluster, want: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    access = Access(SelectedContext("x", "one", "a", cluster, User(token="t"), "f"))

    credential, _ = asyncio.run(access.proof())

    assert credential.authorization == want
