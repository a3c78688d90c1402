#!/usr/bin/env python3
"""`docker` where there is none: it builds nothing, and refuses what docker would not build or push.

A build reads the lines of the Dockerfile and looks for what they copy. DOCKER_IMAGES is the file in
which images are noted: what was not built is not pushed, and what was not pushed is no base.
"""

import argparse
import os
import re
import sys
from pathlib import Path

NOTED = Path(os.environ["DOCKER_IMAGES"])
NAME = re.compile(r"[a-z0-9.-]+\.[a-z]+(:\d+)?(/[a-z0-9._-]+)+:[\w.-]+")
INSTRUCTIONS = {
    "ARG",
    "FROM",
    "COPY",
    "RUN",
    "ENV",
    "WORKDIR",
    "USER",
    "EXPOSE",
    "ENTRYPOINT",
    "CMD",
}


def build(asked: argparse.Namespace) -> None:
    context = Path(asked.context)
    file = Path(asked.file) if asked.file else context / "Dockerfile"
    ignored = Path(f"{file}.dockerignore")
    allowed = ignored.read_text().split() if ignored.exists() else ["!*"]
    text = re.sub(r"^#.*\n", "", file.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    lines = [line.split() for line in text.splitlines() if line.strip()]
    if next(words[0] for words in lines if words[0] != "ARG") != "FROM":
        sys.exit(f"{file}: no build stage in current context")
    for instruction, *words in lines:
        if instruction not in INSTRUCTIONS:
            sys.exit(f"{file}: unknown instruction: {instruction}")
        if not words:
            sys.exit(f"{file}: {instruction} requires at least one argument")
        if (
            instruction == "FROM"
            and NAME.fullmatch(words[0])
            and f"pushed {words[0]}" not in noted()
        ):
            sys.exit(f"{words[0]}: not found")
        if instruction == "COPY" and not words[0].startswith("--from="):
            for source in words[:-1]:
                if not (context / source).exists() or not ({f"!{source}", "!*"} & set(allowed)):
                    sys.exit(f"{file}: failed to compute cache key: {source}: not found")
    note(f"built {asked.tag}")


def push(asked: argparse.Namespace) -> None:
    if not NAME.fullmatch(asked.image):
        sys.exit(f"{asked.image}: push access denied: no registry in its name")
    if f"built {asked.image}" not in noted():
        sys.exit(f"An image does not exist locally with the tag: {asked.image}")
    note(f"pushed {asked.image}")


def noted() -> list[str]:
    return NOTED.read_text().splitlines() if NOTED.exists() else []


def note(what: str) -> None:
    NOTED.write_text("\n".join([*noted(), what]))


def main() -> None:
    docker = argparse.ArgumentParser("docker", allow_abbrev=False)
    commands = docker.add_subparsers(required=True)
    building = commands.add_parser("build", allow_abbrev=False)
    building.add_argument("-f", "--file")
    building.add_argument("-t", "--tag", required=True)
    building.add_argument("--build-arg", action="append")
    building.add_argument("context")
    building.set_defaults(does=build)
    pushing = commands.add_parser("push", allow_abbrev=False)
    pushing.add_argument("image")
    pushing.set_defaults(does=push)
    asked = docker.parse_args()
    asked.does(asked)


if __name__ == "__main__":
    main()
