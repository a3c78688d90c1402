"""What a scheduler needs of an API server: list, watch, bind, and a few writes.

The law of this package:

- It names the surface (`ApiServer`) and follows it (`Reflector`); it opens no socket. A real API
  server (`moorage.kube`) and the embedded cluster (`moorage.memory`) stand behind the same surface,
  and nothing inward can tell which.
- What is listed and watched arrives decoded, as frozen structs of `moorage.api`, shared by all who
  look. What is written, and what a write or `get` answers, is the whole object as a dict, because a
  writer must not lose fields that scheduling does not read.
- Refusals are exceptions of one tree (`moorage.watch.api_errors`).
- `Freshness` tells whether what was reported may be decided on.
- A reflector reports every change of every object in order, and never loses a deletion.
"""
