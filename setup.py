"""What pyproject.toml cannot say: extensions that may fail to build, and links that need a home."""

import re
import tomllib
from pathlib import Path

from setuptools import Extension, setup

FLAGS = [
    "-O3",
    "-g0",  # no folder names: the same source gives the same bytes
    "-ffp-contract=off",
    "-fwrapv",
    "-fno-math-errno",
    "-fno-trapping-math",
]
ROOT = Path(__file__).parent
PICTURE = re.compile(r"!\[[^]]*\]\((?!https?:)([^)\s]+)\)")
LINK = re.compile(r"(?<!!)\[([^]]*)\]\((?!https?:|#)([^)\s]+)\)")


def described(readme: str, home: str) -> str:
    """The README for readers elsewhere; without a home, links are their text, and pictures go."""
    if not home:
        return LINK.sub(r"\1", re.sub(rf"^{PICTURE.pattern}\n\n?", "", readme, flags=re.MULTILINE))
    readme = PICTURE.sub(lambda m: m[0].replace(f"]({m[1]})", f"]({home}/raw/HEAD/{m[1]})"), readme)
    return LINK.sub(rf"[\1]({home}/blob/HEAD/\2)", readme)


def project_urls(home: str) -> dict[str, str]:
    if not home:
        return {}
    return {
        "Repository": home,
        "Documentation": f"{home}/tree/HEAD/docs",
        "Changelog": f"{home}/blob/HEAD/CHANGELOG.md",
        "Issues": f"{home}/issues",
    }


project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
HOME = project["tool"]["moorage"]["published"]["home"]

setup(
    long_description=described((ROOT / "README.md").read_text(encoding="utf-8"), HOME),
    long_description_content_type="text/markdown",
    project_urls=project_urls(HOME),
    ext_modules=[
        Extension(
            f"moorage.kernels.{name}",
            sources=[f"src/moorage/kernels/{name}.c"],
            extra_compile_args=FLAGS,
            optional=True,  # without a compiler the numpy forms of the same passes are used
        )
        for name in ("_kernels", "_gpu_kernels", "_node_totals")
    ],
)
