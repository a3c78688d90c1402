"""What the made-up dashboard answers, in the shapes of the real one; some of it means harm."""

import itertools
from collections.abc import Callable, Mapping
from typing import Any, Final

Raw = dict[str, Any]

HOSTILE: Final = "<img src=x onerror=window.harmed=1>"
NOW: Final = 1_800_000_000.0
COUNTS: Final = {
    "active": 3, "backoff": 1, "unschedulable": 2, "gated": 1,
    "in_flight": 0, "waiting_on_permit": 0,
}  # fmt: skip
REFUSED: Final = (
    "0/5000 nodes are available: 750 node(s) had untolerated taint(s), 4250 Insufficient cpu."
)
_NUMBERS: Final = itertools.count(1_000_000)


def cluster(nodes: int) -> Raw:
    """So many nodes in three zones; the first has a hostile name."""
    rows = range(nodes)
    columns = {
        "name": [HOSTILE, *(f"node-{row:04d}" for row in rows[1:])],
        "zone": [f"zone-{'abc'[row % 3]}" for row in rows],
        "pool": [f"pool-{row % 5}" for row in rows],
        "tenant": [HOSTILE if row % 7 == 0 else f"team-{row % 4}" for row in rows],
        "ready": [row % 500 != 3 for row in rows],
        "tainted": [row % 5 == 0 for row in rows],
        "cores": [96.0 if row == 0 else 8.0 for row in rows],
        "gib": [64.0 for row in rows],
        "pods": [row % 30 for row in rows],
        "gpu": [row % 9 / 8 if row % 5 == 0 else None for row in rows],
        "price": [0.4 + row % 5 for row in rows],
        "verdict": [row % 3 for row in rows],
        "label": [f"rack-{row % 20}" for row in rows],
    }
    share = [row * 7 % 101 / 100 for row in rows]
    shares = dict.fromkeys(("allocation", "cpu", "memory", "usage", "gpu_fragmentation"), share)
    verdicts = [
        {"text": "fits", "plugin": "", "nodes": nodes // 3},
        {"text": HOSTILE, "plugin": "NodeResourcesFit", "nodes": nodes // 3},
        {"text": "node(s) had untolerated taint(s)", "plugin": "TaintToleration", "nodes": 1666},
    ]
    return {
        "revision": 1, "layout": 1, "resources": ["cpu", "memory"], "labels": ["example.com/rack"],
        "nodes": {**columns, **{name: list(values) for name, values in shares.items()}},
        "verdicts": verdicts,
    }  # fmt: skip


def changed(cluster: Raw, rows: int, turn: int) -> Raw:
    """Some rows with other values, as the stream tells them."""
    nodes, total = cluster["nodes"], len(cluster["nodes"]["name"])
    which = [(turn + step * 17) % total for step in range(rows)]
    shares = [(turn + row) % 101 / 100 for row in which]
    for row, share in zip(which, shares, strict=True):
        nodes["allocation"][row] = share
    cluster["revision"] = turn + 1
    columns = {"allocation": shares, "pods": [turn % 99 for _ in which]}
    return {"revision": turn + 1, "layout": 1, "rows": which, "columns": columns}


def decided(items: int, turn: int, now: float) -> Raw:
    """The newest attempts, as the stream tells them."""
    return {
        "items": [_attempt(f"shop/web-{turn}-{each}", now) for each in range(items)],
        "skipped": 200,
        "rates": {"per_s": 1000.0, "p50_ms": 0.7, "p99_ms": 2.9},
    }


def _attempt(pod: str, time: float, placed: bool = True) -> Raw:
    number = next(_NUMBERS)
    found: Raw = {
        "number": number, "attempt": f"{number:x}", "pod": pod, "profile": "default-scheduler",
        "result": "scheduled" if placed else "unschedulable", "time": time, "ms": 0.8,
        "attempts": 1, "evaluated": 5000, "steps": {"Filter": 0.3, "Score": 0.4},
    }  # fmt: skip
    if not placed:
        return {**found, "message": REFUSED}
    scores = {"TaintToleration": 300, "NodeResourcesFit": 65}
    others = {"node-0009": {"TaintToleration": 300, "NodeResourcesFit": 46}}
    return {
        **found, "node": "node-0007", "score": 365, "feasible": 12, "scores": scores,
        "runners_up": others,
    }  # fmt: skip


def node(name: str) -> Raw:
    room = {"cpu": {"allocatable": "16", "requested": "12500m", "free": "3500m"}}
    pods = [{"pod": f"shop/{HOSTILE}", "priority": 0, "requests": {"cpu": "1"}, "age_s": 70.0}]
    refuses = [{"reason": HOSTILE, "plugin": "NodeResourcesFit", "pods": 3}]
    return {
        "name": name, "labels": {"kubernetes.io/hostname": name, "hostile": HOSTILE}, "room": room,
        "taints": [f"{HOSTILE}:NoSchedule"], "unschedulable": False, "pods": pods,
        "gpus": [{"index": 0, "milli_used": 500, "pods": [HOSTILE]}], "refuses": refuses,
        "conditions": ["Ready"],
    }  # fmt: skip


def pod(asked: Mapping[str, str]) -> Raw:
    key = f"{asked['ns']}/{asked['name']}"
    patch = [{"op": "add", "path": "/spec/tolerations/-", "value": {"key": "gpu"}}]
    fewer = [{"op": "replace", "path": "/spec/containers/0/resources/requests/cpu", "value": "4"}]
    changes = [
        {"kind": "request", "summary": "request 4 of cpu instead of 6", "patch": fewer,
         "node": "node-0007", "cost": 0.3, "minimal": True},
        {"kind": "toleration", "summary": f"tolerate the taint {HOSTILE}", "patch": patch,
         "node": "node-0005", "cost": 1, "minimal": True},
    ]  # fmt: skip
    told = {
        "pod": key, "state": "pending", "node": "", "scores": {}, "decided_by": [],
        "changes": changes,
        "refusals": [{"reason": "Insufficient cpu", "plugin": "NodeResourcesFit", "nodes": 4250}],
        "message": REFUSED, "in_words": ["asks 6 of cpu"], "waits_for": [HOSTILE],
        "queue_place": [2, 7],
    }  # fmt: skip
    return {
        "pod": key, "state": "unschedulable", "node": "", "explanation": told,
        "attempts": [_attempt(key, NOW - 60, placed=False), _attempt(key, NOW - 5)],
        "preemption": {"for": key, "node": "node-0007", "victims": ["batch/report-7"]},
        "victims": [_left(HOSTILE, HOSTILE)],
        "left_for": [_left(f"shop/{HOSTILE}", "node-0003")],
        "events": [{"type": "Warning", "reason": "Failed", "message": HOSTILE, "age_s": 5}],
    }  # fmt: skip


def _left(other: str, node: str) -> Raw:
    return {
        "pod": other, "by": other, "what": "pod", "node": node, "room_on": HOSTILE, "priority": 0,
        "by_priority": 100, "time": NOW - 70, "way": "deletion", "why": HOSTILE, "earlier": True,
    }  # fmt: skip


def _about(_: object) -> Raw:
    can = {"explain": True, "compare": True, "timeline": True}
    return {
        "mode": "run", "version": "0.1.0", "instance": HOSTILE, "profiles": ["default-scheduler"],
        "generation": 3, "now": NOW, "live": True, "leader": True, "can": can,
    }  # fmt: skip


def _queue(_: object) -> Raw:
    states = ("active", "active", "active", "backoff", "unschedulable", "unschedulable", "gated")
    items: list[Raw] = [
        {"pod": f"shop/{HOSTILE if place == 5 else f'job-{place}'}", "state": state, "place": place,
         "age_s": 60.0 * place, "attempts": place, "reason": REFUSED if place > 3 else "",
         "waits_for": "NodeResourcesFit", "plugins": [], "priority": 0, "profile": "p", "group": ""}
        for place, state in enumerate(states, 1)
    ]  # fmt: skip
    gang = {"group": f"ml/{HOSTILE}", "state": "waiting", "members": 8, "min_member": 8, "bound": 5,
            "reason": "3 of 8 pods have no node"}  # fmt: skip
    quota = {"cpu": {"min": 200, "max": 400, "used": 260}}
    tenant = {"name": HOSTILE, "quota": quota, "borrowed": {"cpu": 60}, "fair_share": 0.2}
    return {
        "counts": COUNTS, "items": items, "total": 7, "continue": "", "gangs": [gang],
        "tenants": [tenant], "reasons": [{"reason": HOSTILE, "pods": 4}],
    }  # fmt: skip


def _decisions(_: object) -> Raw:
    items = [_attempt("shop/web-1", NOW - 2), _attempt(f"shop/{HOSTILE}", NOW - 9, placed=False)]
    steps = [{"step": "Filter", "plugin": "", "p50_ms": 0.2, "p99_ms": 0.9, "calls": 9000}]
    timeline = [
        {"at": NOW - 600 + 10 * each, "placed": 20 + each % 7, "refused": each % 3, "p99_ms": 2.0}
        for each in range(60)
    ]
    rates = {"per_s": 412.5, "p50_ms": 0.7, "p99_ms": 2.9}
    return {"items": items, "continue": "", "rates": rates, "steps": steps, "timeline": timeline}


def _compare(_: object) -> Raw:
    finding = {"kpi": "wait_p50_s", "verdict": "better", "canary": 1.2, "stable": 1.9,
               "units": [120, 1080], "p": 0.003, "against": ""}  # fmt: skip
    plugins = [
        {"name": HOSTILE, "profile": "p", "points": ["Filter"], "breaker": breaker,
         "deadline_ms": 50.0, "cost_ms_per_attempt": 0.02, "failures": 3}
        for breaker in ("closed", "open", "half-open")
    ]  # fmt: skip
    strategy = {"namespace": HOSTILE, "cpu_weight": 60, "memory_weight": 40, "goal": "spread",
                "why": "its pods use much cpu", "since": NOW - 900}  # fmt: skip
    return {
        "canaries": [{"profile": "p", "version": HOSTILE, "share": 0.1, "findings": [finding]}],
        "shadow": None, "strategies": {"p": {"shop": strategy}}, "plugins": plugins,
        "generations": [{"generation": 2, "at": NOW - 70, "difference": [f"+ {HOSTILE}"],
                         "in_force": True}],
        "kpis": [{"kpi": "cost", "configurations": ["today", "tomorrow"], "mean": [3.0, 2.0],
                  "low": [2.5, 1.8], "high": [3.5, 2.2]}],
    }  # fmt: skip


def _health(_: object) -> Raw:
    alert = {"severity": "warning", "text": f"Feed {HOSTILE} is old", "remedy": "see who writes it"}
    return {
        "checks": [{"name": "watches", "ok": True, "text": ""},
                   {"name": "loop", "ok": False, "text": HOSTILE}],
        "leader": {"identity": "sched-1", "leading": True, "holder": HOSTILE,
                   "lease": "kube-system/moorage", "left_s": 13.0},
        "alerts": [alert],
        "watches": [{"resource": "pods", "state": "watching", "age_s": 2.0, "relists": 0}],
        "feeds": [{"name": "prices", "age_s": 4000.0, "ok": False}],
        "api": {"p50_ms": 4.1, "p99_ms": 22.0, "errors_per_s": 0.0},
    }  # fmt: skip


PLAIN: Final[Mapping[str, Callable[[object], Raw]]] = {
    "about": _about, "queue": _queue, "decisions": _decisions, "compare": _compare,
    "health": _health,
}  # fmt: skip
