"""The modules of the package, and who imports whom, type-checking imports included."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src"

Graph = dict[str, set[str]]


@cache
def modules() -> dict[str, Path]:
    """Every module by its dotted name; a package by its own."""
    found = {}
    for path in sorted(SOURCES.glob("moorage/**/*.py")):
        parts = path.relative_to(SOURCES).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def graph() -> Graph:
    """For each module those that it names in an import, wherever the import stands."""
    known = modules()
    return {name: set(_imported(name, path, known)) for name, path in known.items()}


def _imported(name: str, path: Path, known: dict[str, Path]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: import by the full name"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                target = full if full in known else str(node.module)
                if target in known and target != name:
                    yield target


def cycles(edges: Graph) -> list[set[str]]:
    """The sets of modules that reach each other (Tarjan), the largest first."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[set[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in sorted(edges[name]):
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            start = stack.index(name)
            found.append(set(stack[start:]))
            del stack[start:]

    for name in edges:
        if name not in index:
            visit(name)
    return sorted((each for each in found if len(each) > 1), key=len, reverse=True)
