"""Text from outside stays text: in a path, in a header, on a terminal."""

import pytest

from moorage.api.outside_text import header, printable, request_target, url_path


@pytest.mark.parametrize(
    ("part", "want"),
    [
        pytest.param("web-0", "/web-0", id="a name stays as it is"),
        pytest.param("a/b", "/a%2Fb", id="a slash opens no folder"),
        pytest.param("a?watch=1#x", "/a%3Fwatch%3D1%23x", id="a question mark begins no query"),
        pytest.param("a\r\nDELETE /", "/a%0D%0ADELETE%20%2F", id="a line break ends no request"),
        pytest.param("a%2e", "/a%252e", id="an escape is a text like others"),
        pytest.param("ä", "/%C3%A4", id="letters beyond ASCII are bytes"),
    ],
)
def test_a_name_is_one_part_of_a_path(part: str, want: str) -> None:
    assert url_path(part) == want


@pytest.mark.parametrize("part", [".", ".."])
def test_no_name_leads_to_another_folder(part: str) -> None:
    with pytest.raises(ValueError, match="must not be"):
        url_path("a", part)


@pytest.mark.parametrize("mark", [chr(code) for code in (*range(0x21), 0x7F)], ids=ascii)
def test_a_request_is_one_line(mark: str) -> None:
    assert request_target("/a?b=1") == "/a?b=1"
    with pytest.raises(ValueError, match="holds a space or a control character"):
        request_target(f"/a{mark}b")


@pytest.mark.parametrize("text", ["a\r\nb", "a\nb", "a\0b", "a\x7fb", "a\x1bb"], ids=ascii)
def test_a_header_is_one_line(text: str) -> None:
    assert header("A", "b\tc ä") == "A: b\tc ä\r\n"
    for name, value in ((text, "b"), ("A", text)):
        with pytest.raises(ValueError, match="holds a line break or a control character"):
            header(name, value)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("a b\tä\n→", "a b\tä\n→", id="letters, tabs and line breaks stay"),
        pytest.param("\x1b]0;x\x07", "\\u001b]0;x\\u0007", id="escapes are shown"),
        pytest.param("\x9b31m\x7f", "\\u009b31m\\u007f", id="so are those of one byte above ASCII"),
        pytest.param("a\rb", "a\\u000db", id="a line is not written over"),
    ],
)
def test_printable(text: str, want: str) -> None:
    assert printable(text) == want
    assert printable(want) == want
