"""Validation as in an API server: the same refusals, in the same words.

    object_validation  an object as a whole: its shape, its metadata, the rules of its kind
    field_shapes       fields by name and type; an unknown field is a warning
    field_causes       the causes of a refusal, and checks that many kinds share
    pod_rules          pods and pod templates
    placement_rules    what a pod says about nodes: affinity, spread, tolerations
    workload_rules     Deployments and the like
    storage_rules      volumes, claims, storage classes
    cluster_rules      nodes, priority classes, budgets, quotas, limits, runtime classes

Law of the package: a rule returns causes and changes nothing. Field names and types are in
`api_fields.json`, as the API server publishes them.
"""
