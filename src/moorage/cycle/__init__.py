"""One attempt, step by step: where does this pod go?

    attempt           the steps in order
    filtering         PreFilter, then Filter over all nodes; who refused whom
    promised_rows     rows that other pods are nominated to, filtered with those pods counted
    extender_calls    extenders filter the nodes that plugins left, and add scores
    scoring           PreScore, Score, NormalizeScore, weights; the best node
    verdict_amounts   numbers beside "Insufficient cpu", for logs and traces
    profile           which plugins run at which point, with which weights
    profile_handover  what a profile leaves to the one that replaces it

Law of the package: pure and synchronous. An attempt is one call with no `await` in it, so it needs
no lock and no snapshot: nothing changes under it. Time, randomness and clients are handed in. It
knows the extension points, not the plugins. The one exception is `promised_rows`, which names the
Filter plugins that read only a node's object, its sums or its host ports.
"""
