"""Guards around custom plugins: deadlines, checked answers, circuit breakers.

    guards             the custom plugins of a profile, wrapped in guarded subclasses
    plugin_guard       the guard of one plugin: every hook call goes through it
    hook_wrappers      hooks called once per attempt or about one node
    node_hooks         Filter, Score and NormalizeScore over many nodes
    queueing_hooks     QueueSort, event hints, hooks called when a profile is built
    async_hooks        PreBind and Bind, which may await but not block
    answer_checks      checks of answers
    deadline_watchdog  interrupts calls that overrun their deadline
    load_deadline      interrupts imports and constructors that take too long
    breaker            closed, open after repeated failures, half-open on trial
    breaker_events     reports of plugins switched off or on
    read_only_objects  API objects that plugins cannot change

Law of the package:

- Whatever a custom plugin does, the loop goes on. A plugin that raises, hangs, gives an invalid
  answer or tries to change its arguments costs an attempt; the error names plugin, hook and remedy.
- A custom plugin's class is replaced by a subclass whose hooks go through a `Guard`. The engine
  does not know that, and built-in plugins, which are not wrapped, have no overhead.
- A call that overruns its deadline is interrupted in the main thread by a signal from a watchdog
  thread; never inside Moorage's own code, so that no state is left half-written.
- After several failed attempts in a row a circuit breaker switches the plugin off for a while.

    Guards ──wrap──▶ subclass ──hook──▶ Guard ──▶ Breaker (is it on?)
                                          ├─────▶ Watchdog (is it late?)
                                          └─────▶ answer checks (is the answer valid?)
"""

from moorage.guard.guards import Guards, is_custom

__all__ = ["Guards", "is_custom"]
