"""What a scheduler needs of an API server: list, watch, bind, and a few writes.

    api_errors     errors of an API server as one tree of exceptions
    api_resources  group, version, plural, kind and path of each resource
    api_server     the `ApiServer` protocol: the calls a scheduler makes
    freshness      whether what the reflectors hold is recent enough to decide on
    reflector      lists and watches one resource, in order

Law of the package:

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
