"""What a scheduler needs from an API server: list, watch, bind, and a few writes.

    api_errors     errors of an API server as one tree of exceptions
    api_resources  group, version, plural, kind and path of each resource
    api_server     the `ApiServer` protocol: the calls a scheduler makes
    freshness      whether what the reflectors know is recent enough to decide on
    reflector      lists and watches one resource, in order

Law of the package:

- It defines the interface (`ApiServer`) and follows resources through it (`Reflector`); it opens no
  socket. A real API server (`moorage.kube`) and the embedded cluster (`moorage.memory`) implement
  the same interface, and no inner package can tell which.
- Listed and watched objects arrive decoded, as frozen structs of `moorage.api`, shared by all
  readers. Objects that are written, and the answers of writes and of `get`, are whole objects as
  dicts, because a writer must not lose fields that scheduling does not read.
- Errors are exceptions of one tree (`moorage.watch.api_errors`).
- `Freshness` tells whether decisions may be based on what was reported.
- A reflector reports every change of every object in order, and never loses a deletion.
"""
