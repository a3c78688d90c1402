"""Answers the extender verbs filter, prioritize and preempt with a profile's plugins.

filter       PreFilter and Filter; each refusal with the plugin's reason
prioritize   PreScore, Score and NormalizeScore; the weighted mean, from 0 to 10
preempt      the candidates where no plugin refuses the pod once the victims are gone
"""

from collections.abc import Callable, Iterable

import msgspec
import numpy as np

from moorage.api.decode import DecodeError, decode_as
from moorage.api.pod import Pod
from moorage.cache.cache import Cache
from moorage.cycle import filtering, scoring
from moorage.cycle.filtering import Filtering, Mask
from moorage.cycle.profile import Profile
from moorage.extender import protocol
from moorage.extender.protocol import WireDecodeError
from moorage.extender.request_nodes import UNKNOWN_NODE, NodeLookup, RequestNodes
from moorage.framework.cycle import Client, Cycle
from moorage.framework.verdicts import MAX_SCORE, Code, Rejection


class VerbHandler:
    """Answers for one profile, by the content of a cache; `follows`: it follows a cluster."""

    def __init__(
        self,
        profile: Profile,
        cache: Cache,
        *,
        follows: bool,
        now: Callable[[], float],
        client: Client | None = None,
    ) -> None:
        self.profile = profile
        self.cache = cache
        self.nodes = NodeLookup(cache, follows, now)
        self._now = now
        self._client = client
        self._asked = 0

    def cycle(self, pod: Pod) -> Cycle:
        """The cycle for one request."""
        self._asked += 1
        return Cycle(
            self.cache,
            self.cache.info(pod),
            now=self._now(),
            attempt=f"{self._asked:x}",
            shared=self.profile.shared,
            client=self._client,
        )

    def filter(self, args: protocol.ExtenderArgs) -> protocol.ExtenderFilterResult:
        """The nodes that pass, and why the others do not."""
        named, cycle = self.nodes.of(args), self.cycle(read_pod(args.pod))
        outcome = self._filtered(cycle, named)
        passed = [name for name, row in named.rows.items() if outcome.feasible[row]]
        failed = dict.fromkeys(named.unknown, UNKNOWN_NODE)
        unresolvable: dict[str, str] = {}
        if len(passed) < len(named.rows):
            diagnosis = filtering.diagnose(self.profile, cycle, outcome)
            for name, row in named.rows.items():
                why = None if outcome.feasible[row] else diagnosis.rejection(row)
                if why is not None:
                    target = unresolvable if why.code is Code.UNRESOLVABLE else failed
                    target[name] = refusal_text(why)
        return protocol.ExtenderFilterResult(
            nodes=None if named.by_name else _listed(named, passed),
            node_names=passed if named.by_name else None,
            failed_nodes=failed,
            failed_and_unresolvable_nodes=unresolvable,
        )

    def _filtered(self, cycle: Cycle, named: RequestNodes) -> Filtering:
        outcome = Filtering(cycle)
        filtering.pre_filter(self.profile, cycle, outcome)
        if outcome.diagnosis.pre_filter is not None:
            outcome.feasible = np.zeros(cycle.table.rows, dtype=bool)
            return outcome
        if outcome.narrowed is not None or len(named.rows) < len(cycle.table):
            asked = frozenset(named.rows)
            outcome.narrowed = asked if outcome.narrowed is None else asked & outcome.narrowed
        outcome.feasible = filtering.feasible_rows(self.profile, cycle, outcome)
        return outcome

    def prioritize(self, args: protocol.ExtenderArgs) -> list[protocol.HostPriority]:
        """A score from 0 to 10 for each node; unknown nodes get 0."""
        named, cycle = self.nodes.of(args), self.cycle(read_pod(args.pod))
        rows = named.rows.values()
        scores = self._scores(cycle, rows) if rows and self.profile.score else {}
        found = [
            protocol.HostPriority(host=name, score=scores.get(row, 0))
            for name, row in named.rows.items()
        ]
        return found + [protocol.HostPriority(host=name) for name in named.unknown]

    def _scores(self, cycle: Cycle, rows: Iterable[int]) -> dict[int, int]:
        filtering.pre_filter(self.profile, cycle, Filtering(cycle))
        feasible: Mask = np.zeros(cycle.table.rows, dtype=bool)
        feasible[list(rows)] = True
        scored = scoring.run(self.profile, cycle, feasible)
        most = MAX_SCORE * sum(entry.weight for entry in self.profile.score)
        totals = scored.totals + scored.constant
        tenths = (totals * protocol.MAX_PRIORITY * 2 + most) // (most * 2)
        return dict(zip(np.flatnonzero(feasible).tolist(), tenths.tolist(), strict=True))

    def preempt(self, args: protocol.ExtenderPreemptionArgs) -> protocol.ExtenderPreemptionResult:
        """The candidates that no plugin refuses; unknown nodes and victims are not refused."""
        cycle, given = self.cycle(read_pod(args.pod)), _victims(args)
        left: dict[str, protocol.MetaVictims] = {}
        outcome = Filtering(cycle)
        filtering.pre_filter(self.profile, cycle, outcome)
        for name, victims in given.items():
            row = cycle.table.row_of.get(name)
            if row is None or self._fits(cycle, outcome, row, victims):
                left[name] = victims
        return protocol.ExtenderPreemptionResult(node_name_to_meta_victims=left)

    def _fits(
        self, cycle: Cycle, outcome: Filtering, row: int, victims: protocol.MetaVictims
    ) -> bool:
        if outcome.diagnosis.pre_filter is not None:
            return outcome.diagnosis.pre_filter.code is not Code.UNRESOLVABLE
        name = cycle.table.node(row).name
        if outcome.narrowed is not None and name not in outcome.narrowed:
            return False
        with cycle.trial():
            there = cycle.table.pods[row]
            for victim in [there[pod.uid] for pod in victims.pods or () if pod.uid in there]:
                cycle.displace(row, victim)
            return filtering.refusal(cycle, outcome.active, row) is None


def read_pod(text: msgspec.Raw) -> Pod:
    """The pod of a request."""
    try:
        return decode_as(text, Pod)
    except DecodeError as error:
        raise WireDecodeError(str(error)) from None


def refusal_text(why: Rejection) -> str:
    """The reason of a refusal, for kube-scheduler to report."""
    return why.message or f"refused by {why.plugin}"


def _listed(named: RequestNodes, passed: list[str]) -> msgspec.Raw:
    listed = protocol.NodeList(items=[named.text[name] for name in passed])
    return msgspec.Raw(msgspec.json.encode(listed))


def _victims(args: protocol.ExtenderPreemptionArgs) -> dict[str, protocol.MetaVictims]:
    if args.node_name_to_meta_victims is not None:
        return args.node_name_to_meta_victims
    return {
        node: protocol.MetaVictims(
            pods=[protocol.MetaPod(uid=read_pod(pod).uid) for pod in victims.pods or ()],
            num_pdb_violations=victims.num_pdb_violations,
        )
        for node, victims in (args.node_name_to_victims or {}).items()
    }
