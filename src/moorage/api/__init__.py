"""Kubernetes objects as frozen structs, holding only what scheduling reads.

The law of this package:

- It is pure: values in, values out. No clock, no socket, no event loop, no mutable state but caches
  of pure functions.
- Objects are decoded once, at the edge (`moorage.api.decode`), and never changed afterwards. Inward
  of the edge nobody handles a raw dict.
- Fields carry the snake_case of their Kubernetes names. Fields that scheduling does not read are
  ignored, not refused: a newer API server must not stop an older scheduler.
- An absent list, map or string is empty, as in Go; `None` stands for Go's nil pointer, where the
  difference means something.
- Whatever is computed here (quantities, requests, selectors, taints) is computed as Kubernetes
  computes it.
"""
