"""Kubeconfig files: merged, followed, and wrong in every way."""

import base64
from pathlib import Path

import pytest

from moorage.kube import kubeconfig
from moorage.kube.kubeconfig import KubeconfigError

CONFIG = """
apiVersion: v1
kind: Config
current-context: here
clusters:
- name: one
  cluster:
    server: https://one.example:6443
    certificate-authority: ca.crt
    tls-server-name: api.example
- name: two
  cluster: {server: "https://two.example", insecure-skip-tls-verify: true, proxy-url: null}
users:
- name: alice
  user: {token: secret, as: bob, as-groups: [ops]}
- name: carol
  user: {client-certificate-data: Y2VydA==, client-key-data: a2V5}
contexts:
- name: here
  context: {cluster: one, user: alice, namespace: apps}
- name: there
  context: {cluster: two, user: carol}
- name: nowhere
  context: {cluster: three, user: alice}
- name: nobody
  context: {cluster: one, user: dave}
- name: anonymous
  context: {cluster: one}
"""


def written(tmp_path: Path, text: str = CONFIG, name: str = "config") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def test_the_current_context_is_followed_to_its_cluster_and_user(tmp_path: Path) -> None:
    selected = kubeconfig.load_kubeconfig([written(tmp_path)])

    assert selected.context == "here"
    assert selected.cluster.server == "https://one.example:6443"
    assert selected.cluster.tls_server_name == "api.example"
    assert selected.user.token == "secret"
    assert (selected.user.impersonate, selected.user.impersonate_groups) == ("bob", ("ops",))


def test_a_context_can_be_named(tmp_path: Path) -> None:
    selected = kubeconfig.load_kubeconfig([written(tmp_path)], "there")

    assert selected.cluster.insecure_skip_tls_verify
    assert selected.user.client_certificate_data == b"cert"
    assert selected.user.client_key_data == b"key"


def test_paths_are_relative_to_their_file(tmp_path: Path) -> None:
    selected = kubeconfig.load_kubeconfig([written(tmp_path)])

    assert selected.cluster.certificate_authority == str(tmp_path / "ca.crt")


def test_a_context_without_a_user_is_anonymous(tmp_path: Path) -> None:
    assert kubeconfig.load_kubeconfig([written(tmp_path)], "anonymous").user == kubeconfig.User()


def test_of_entries_with_the_same_name_the_first_file_counts(tmp_path: Path) -> None:
    """As kubectl merges the files of KUBECONFIG."""
    other = CONFIG.replace("one.example", "other.example").replace("here", "there", 1)
    first, second = written(tmp_path), written(tmp_path, other, "other")

    selected = kubeconfig.load_kubeconfig([first, second])

    assert selected.context == "here"
    assert selected.cluster.server == "https://one.example:6443"


def test_base64_may_be_folded_over_lines(tmp_path: Path) -> None:
    folded = "|\n" + "\n".join(
        "      " + line.decode() for line in (base64.b64encode(b"c" * 30), b"")
    )
    text = CONFIG.replace("{client-certificate-data: Y2VydA==, client-key-data: a2V5}", "@@")
    text = text.replace("@@", "\n    client-certificate-data: " + folded)

    assert kubeconfig.load_kubeconfig(
        [written(tmp_path, text)], "there"
    ).user.client_certificate_data == (b"c" * 30)


@pytest.mark.parametrize(
    ("text", "context", "want"),
    [
        pytest.param(
            CONFIG,
            "elsewhere",
            "config: context: there is no 'elsewhere'; there is: anonymous, here, nobody, nowhere, "
            "there",
            id="a context that is not there",
        ),
        pytest.param(
            CONFIG,
            "nowhere",
            "config: context 'nowhere': cluster: there is no 'three'; there is: one, two",
            id="a cluster that is not there",
        ),
        pytest.param(
            CONFIG,
            "nobody",
            "config: context 'nobody': user: there is no 'dave'; there is: alice, carol",
            id="a user that is not there",
        ),
        pytest.param(
            CONFIG.replace("current-context: here", ""),
            "",
            "config: current-context: not set; name one with --context: here, there, nowhere, "
            "nobody, anonymous",
            id="no current context",
        ),
        pytest.param(
            CONFIG.replace("Y2VydA==", "'%%%'"),
            "",
            "config: users[1].user.client-certificate-data: invalid base64 encoded string",
            id="data that is not base64",
        ),
        pytest.param(
            CONFIG.replace("token: secret", "token: 12345"),
            "",
            "config: users[0].user.token: expected a string, got a whole number: put it in quotes",
            id="a token that is a number",
        ),
        pytest.param(
            CONFIG.replace("- name: alice", "- title: alice"),
            "",
            "config: users[0].name: missing",
            id="an entry without a name",
        ),
        pytest.param(
            "clusters: {}\n", "x", "config: clusters: expected a list", id="a map for a list"
        ),
        pytest.param("- 1\n", "", "config: not a kubeconfig", id="a list for a document"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(
    tmp_path: Path, text: str, context: str, want: str
) -> None:
    text = text.replace("clusters: {}", "clusters: {a: b}")
    with pytest.raises(KubeconfigError) as caught:
        kubeconfig.load_kubeconfig([written(tmp_path, text)], context)

    assert str(caught.value).startswith(str(tmp_path))
    assert want in str(caught.value)


def test_broken_yaml_is_told_by_its_line_and_shows_no_secret(tmp_path: Path) -> None:
    path = written(tmp_path, "users:\n- name: a\n  user: {token: hush, [}\n")

    with pytest.raises(KubeconfigError) as caught:
        kubeconfig.load_kubeconfig([path])

    assert str(caught.value) == f"{path}: line 3: not YAML"


def test_a_file_of_several_documents_is_no_kubeconfig(tmp_path: Path) -> None:
    path = written(tmp_path, "kind: Node\n---\nkind: Pod\n---\n")

    with pytest.raises(KubeconfigError, match=r": 2 YAML documents .*: is it a manifest\?"):
        kubeconfig.load_kubeconfig([path])


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(KubeconfigError, match="No such file"):
        kubeconfig.load_kubeconfig([tmp_path / "nothing"])
