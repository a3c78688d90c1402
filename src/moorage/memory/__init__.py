"""The embedded cluster: an in-memory store that answers as an API server does.

The law of this package:

- It is a store, not a mock. For everything a scheduler does, the answer, the refusal, its text and
  the events that follow are those of a real API server.
- Objects are kept as dicts that nobody changes: a new version is a new dict that shares what did
  not change. Each version is decoded once, into the struct that all watchers share.
- One counter gives every write its resource version. A write that changes nothing writes nothing.
- Watchers read a bounded history at their own pace. Nobody misses an event: who falls behind the
  history is told so (`Gone`).
- Nothing happens unasked: controllers (`controllers`) and a small kubelet are started by whoever
  wants them, and write as anybody does.
- Calls run to their end without yielding, so they need no lock; the cluster belongs to one thread.
"""
