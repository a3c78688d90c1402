"""Flags about who may look: what they name is checked before anything is served."""

import asyncio
from pathlib import Path

import pytest

from moorage.app.serving_flags import ServingFlags, callers_for
from moorage.config.field_errors import InputError
from moorage.kube.kubeconfig import Cluster, SelectedContext, User

HERE = SelectedContext("here", "one", "a", Cluster(server="http://127.0.0.1:9"), User(), "")


@pytest.mark.parametrize("flag", ["client_ca_file", "requestheader_client_ca_file"])
@pytest.mark.parametrize(
    ("content", "want"),
    [
        pytest.param(b"kind: Pod", "not a PEM certificate", id="something else"),
        pytest.param(b"\x7fELF\xff", "not a PEM certificate", id="no text"),
        pytest.param(b"", "not a PEM certificate", id="nothing"),
        pytest.param(None, "No such file or directory", id="no file"),
    ],
)
def test_an_authority_that_is_none_is_named(
    tmp_path: Path, flag: str, content: bytes | None, want: str
) -> None:
    file = tmp_path / "ca.crt"
    if content is not None:
        file.write_bytes(content)

    async def main() -> None:
        async with callers_for(ServingFlags(**{flag: str(file)}), HERE):  # type: ignore[arg-type]
            pass

    with pytest.raises(InputError, match=rf"ca\.crt: {want}"):
        asyncio.run(main())
