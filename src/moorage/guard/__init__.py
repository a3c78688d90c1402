"""Guards around custom plugins: deadlines, checked answers, circuit breakers.

The law of this package:

- Whatever a custom plugin does, the loop goes on: it may raise, hang, answer nonsense or try to
  change what it is given; that costs an attempt, and the error names plugin, hook and remedy.
- A custom plugin's class is replaced by a subclass whose hooks go through a `Guard`. The engine
  knows nothing of it, and built-in plugins, which are not wrapped, pay nothing.
- A call that overstays its deadline is interrupted in the main thread by a signal, from a thread
  that watches; never inside Moorage's own code, so nothing is left half-written.
- After several failed attempts in a row a circuit breaker switches the plugin off for a while.

    Guards ──wrap──▶ subclass ──hook──▶ Guard ──▶ Breaker (is it on?)
                                          ├─────▶ Watchdog (is it late?)
                                          └─────▶ answers (does the answer make sense?)
"""

from moorage.guard.guards import Guards, is_custom

__all__ = ["Guards", "is_custom"]
