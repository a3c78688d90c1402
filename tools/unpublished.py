"""Lists what is left out because Moorage has no home, image or contact yet.

usage: python3 tools/unpublished.py

The three are in pyproject.toml, [tool.moorage.published]. What a wheel says follows from them by
itself (setup.py); the other places are written by hand, and are listed until they name the value.
"""

import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]


class Place(NamedTuple):
    """A file that is to name `home`, `image` or `contact`; None: a wheel, which does by itself."""

    needs: str
    file: str | None
    lacks: str


PLACES = (
    Place("home", None, "README's links and pictures are left out of the package's description"),
    Place("home", None, "addresses of the repository, documents, changelog and issues"),
    Place("home", ".github/ISSUE_TEMPLATE/config.yml", "links to the documents"),
    Place("home", "deploy/Dockerfile", "the label org.opencontainers.image.source"),
    Place("home", "deploy/overlays/monitoring/alerts.yaml", "whole addresses of runbooks"),
    Place("image", "deploy/base/kustomization.yaml", "an image that can be pulled"),
    Place("image", "docs/operations.md", "an image to pull rather than build"),
    Place(
        "contact", ".github/SECURITY.md", "an address to report to, beside the repository's page"
    ),
)


def unpublished(root: Path = ROOT) -> list[str]:
    """A line for each thing that is left out."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    published = project["tool"]["moorage"]["published"]
    return [
        f"{place.needs}: {place.file or 'the wheel'}: {place.lacks}"
        for place in PLACES
        if not (value := published[place.needs])
        or (place.file and value not in (root / place.file).read_text(encoding="utf-8"))
    ]


if __name__ == "__main__":
    print("\n".join(unpublished() or ["nothing is left out"]))
