"""Acting on decisions: permits, the binding cycle, events and pod status.

    permits            assumed pods that wait on Permit or are in PreBind
    binder             the binding cycle of one pod: Permit, PreBind, Bind, PostBind
    plugin_client      the API client for Reserve, PreBind and Bind plugins
    event_recorder     events, in kube-scheduler's words
    status_patches     patches of a pod's status
    latency_condition  `schedulerLatency` of a pod

Law of the package: it acts on decisions and makes none. All calls to the API server about a pod
after its attempt are here. A failure comes back as an outcome, and the pod is retried.
"""
