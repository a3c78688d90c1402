"""Go's templates are filled in as Go fills them in, as far as upstream's manifests go."""

from typing import Any

import pytest

from bench.perf.go_template import Template, TemplateError


@pytest.mark.parametrize(
    ("text", "env", "want"),
    [
        ("a-{{.Index}}", {"Index": 3}, "a-3"),
        ("{{ DivideInt .Index 10 }}", {"Index": 25}, "2"),
        (
            "{{AddInt 8000 (Mod .Index (DivideInt .pods .nodes))}}",
            {"Index": 7, "pods": 8, "nodes": 2},
            "8003",
        ),
        ("{{if .cpu}}{{.cpu}}{{else}}50m{{end}}", {}, "50m"),
        ("{{if .cpu}}{{.cpu}}{{else}}50m{{end}}", {"cpu": "1"}, "1"),
        ('{{if eq .mode "single"}}s{{else}}a{{end}}', {"mode": "single"}, "s"),
        ("{{$n := or .n 2}}{{range ($n | Int)}}[{{.}}]{{end}}", {}, "[0][1]"),
        ("{{range $i := 2}}{{if ge $i 1}}x{{$i}}{{end}}{{end}}", {}, "x1"),
        ("{{$c := (or .c nil) | JSON}}c: {{$c}}", {}, "c: null"),
        ("a {{- .b -}} c", {"b": "B"}, "aBc"),
    ],
)
def test_what_is_filled_in(text: str, env: dict[str, Any], want: str) -> None:
    assert Template(text).render(env) == want


@pytest.mark.parametrize("text", ["{{unknown .a}}", "{{if .a}}", "{{end}}", "{{AddInt (1 2}}"])
def test_what_is_not_known_is_refused(text: str) -> None:
    with pytest.raises(TemplateError):
        Template(text).render({"a": 1})


def test_a_template_without_actions_is_static() -> None:
    assert Template("kind: Pod").is_static
    assert not Template("name: {{.Index}}").is_static
