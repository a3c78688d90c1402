"""Acting on decisions: permits, the binding cycle, events and pod status.

    permits            assumed pods that wait on Permit or are in PreBind
    binder             the binding cycle of one pod: Permit, PreBind, Bind, PostBind
    plugin_client      the API client that Reserve, PreBind and Bind plugins are given
    event_recorder     events, in kube-scheduler's words
    status_patches     patches of a pod's status
    latency_condition  `schedulerLatency` of a pod

Law of the package: acts on decisions, takes none. Everything that talks to the API server about a
pod after its attempt is here; a failure comes back as an outcome, and the pod is retried.
"""
