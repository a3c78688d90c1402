"""The embedded cluster: an in-memory store that answers as an API server does.

    admission_plugins    LimitRanger, RuntimeClass, tolerations and quotas, in order
    cluster_resources    the resources that are kept
    conditions           finds and sets conditions in an object's status, one of each type
    controllers          the controllers of workloads and volumes
    creation             name, namespace, defaults, admission and validation, then the store
    deletion             grace periods, finalizers, namespaces with their contents
    error_messages       API errors with the messages a real API server writes
    kubelet              a kubelet for all nodes
    limit_ranges         the LimitRanger admission plugin
    limitations          one line for each thing that the cluster does not take into account
    list_watch           lists, paged at one version, and watches that read a resource's history
    manifest_loader      loads manifests as they are written, status included
    memory_cluster       `MemoryCluster`: the surface itself, and ways to load it
    namespace_lifecycle  admission into a namespace, and its termination
    object_defaults      defaults an API server fills into objects other than pods
    object_names         names of new objects: generated on request, and checked
    object_registry      the store, the options and the generator of uids: all operations use it
    patches              JSON merge patches (RFC 7396) and Kubernetes' strategic merge patches
    pod_admission        admission of pod specs: defaults, matchLabelKeys and priority
    pod_defaults         defaults an API server fills into a pod spec
    pod_subresources     the subresources pods/binding and pods/eviction, with PodDisruptionBudgets
    pod_validation       validation of new pods and of pod updates
    priority_admission   the Priority admission plugin: resolves priority classes to numbers
    resource_quotas      the ResourceQuota admission plugin
    resource_traits      which resources have a status subresource, or a generation
    shared_specs         equal pod specs share one object
    stored_objects       each version as a dict, and as the struct decoded from it
    updates              updates and patches, within what an API server lets change
    validation           validation as an API server does it: what it refuses is refused
    versioned_store      every object with its version, and a bounded history of changes

Law of the package:

- It is a store, not a mock. For everything a scheduler does, the answer, the refusal, its text and
  the events that follow are those of a real API server.
- Objects are kept as dicts that nobody changes: a new version is a new dict that shares what did
  not change. Each version is decoded once, into the struct that all watchers share.
- One counter gives every write its resource version. A write that changes nothing stores nothing.
- Watchers read a bounded history at their own pace. Nobody misses an event silently: a watcher
  that falls behind the history gets `Gone`.
- Nothing happens by itself: the controllers (`controllers`) and a small kubelet run only if
  somebody starts them. They write to the cluster as any client does.
- Calls run to their end without yielding, so they need no lock; the cluster belongs to one thread.
- `ClusterOptions` turns on validation (`validation`) and the admission plugins of an API server
  (`admission_plugins`). Simulations turn on both.
"""
