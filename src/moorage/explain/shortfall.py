"""Why a pod is pending, in plain words with numbers."""

from collections.abc import Iterator

from moorage.api.resource_amounts import format_amount
from moorage.devices.device_cache import device_cache
from moorage.devices.reasons import unmet_claim
from moorage.explain.world import Question
from moorage.plugins.dynamic_resources.pod_claims import ClaimsError, pod_claims


def shortfalls(question: Question) -> list[str]:
    """One sentence for each resource that no node which is otherwise right has enough of, and for
    each request of a claim that devices do not meet."""
    return [*_sentences(question), *_claims(question)]


def _claims(question: Question) -> Iterator[str]:
    cycle = question.cycle
    if not cycle.pod.spec.resource_claims or not cycle.table.rows:
        return
    devices = device_cache(cycle.cache)
    try:
        claims = pod_claims(cycle.pod, devices.claims)
    except ClaimsError as error:
        yield str(error)
        return
    for claim in claims:
        if claim.status.allocation is None:
            yield from unmet_claim(devices, claim, cycle.budget)


def _sentences(question: Question) -> Iterator[str]:
    table = question.cycle.table
    alive = table.alive[: table.rows]
    if not alive.any():
        yield "there are no nodes"
        return
    usable = alive & question.searched
    for entry in question.asked:
        if entry.name != "NodeResourcesFit":
            usable &= ~question.refusing(entry)
    where = (
        "of the nodes its other rules allow, " if usable.any() and not usable[alive].all() else ""
    )
    looked_at = usable if usable.any() else alive
    for index, amount in question.cycle.incoming.requests:
        if not amount:
            continue
        name = table.resources.values[index]
        asked = format_amount(name, amount)
        if index >= len(table.free):
            yield f"asks {asked} of {name}; no node has any"
            continue
        free = int(table.free[index, : table.rows][looked_at].max())
        offered = int(table.allocatable[index, : table.rows][looked_at].max())
        if free >= amount:
            continue
        if not offered:
            yield f"asks {asked} of {name}; {where}no node has any"
        elif offered < amount:
            most = format_amount(name, offered)
            yield f"asks {asked} of {name}; {where}the most any node has at all is {most}"
        else:
            has, most = format_amount(name, max(free, 0)), format_amount(name, offered)
            yield (
                f"asks {asked} of {name}; {where}the most any node has free is {has}, "
                f"has at all {most}"
            )
