"""`moorage evaluate`: conformance cases in, outcomes out."""

import sys

import click
import msgspec

from moorage.app import built_in_plugins
from moorage.cli.command_exit import BAD_INPUT
from moorage.cli.standard_streams import echo
from moorage.explain.evaluator import CaseError, evaluate
from moorage.framework.plugin_registry import Registry


@click.command("evaluate", short_help="Decide cases, read as JSON lines.")
def evaluate_command() -> None:
    """Decide cases read as JSON lines and write each outcome as a JSON line.

    A case holds a cluster and one pod, as plain Kubernetes objects: `nodes`, `pods`, `pod`, and
    whatever else matters (`namespaces`, `persistentVolumeClaims`, `config` ...). The outcome tells
    who rejected which node and why, every score, and what preemption would do. A case that cannot
    be decided gives an outcome with an `error`, and the rest goes on; how many there were is said
    on standard error, and the exit code is 2.

    \b
    Example:
      moorage evaluate < cases.jsonl > outcomes.jsonl
    """
    known = built_in_plugins.installed()
    encode = msgspec.json.Encoder().encode
    cases = failed = 0
    for number, line in enumerate(sys.stdin.buffer, start=1):
        if line.strip():
            outcome = _outcome(line, number, known)
            sys.stdout.buffer.write(encode(outcome) + b"\n")
            cases, failed = cases + 1, failed + ("error" in outcome)
    sys.stdout.buffer.flush()
    if failed:
        echo(f"error: {failed} of {cases} cases could not be decided", err=True)
        sys.exit(BAD_INPUT)


def _outcome(line: bytes, number: int, known: Registry) -> dict[str, object]:
    try:
        case = msgspec.json.decode(line)
        if not isinstance(case, dict):
            raise TypeError("a case is a JSON object")
    except (msgspec.DecodeError, TypeError) as error:
        return {"id": None, "error": f"line {number}: {error}"}
    try:
        return evaluate(case, known)
    except CaseError as error:
        return {"id": case.get("id"), "error": f"line {number}: {error}"}
    except Exception as error:
        return {"id": case.get("id"), "error": f"line {number}: {type(error).__name__}: {error}"}
