"""Kubernetes objects as frozen structs, holding only what scheduling reads.

    meta                what every object has: metadata, owners, label selectors
    pod                 pods
    pod_spec            their specs, statuses and containers
    affinity            node affinity, pod affinity, topology spread constraints
    taints              taints, and whether tolerations tolerate them
    volumes             volumes of pods, and volume sources
    node                nodes
    storage             PersistentVolumes, claims, storage classes, CSINodes
    cluster_objects     namespaces, services, controllers, disruption budgets, priority classes
    resource_slices     devices: ResourceSlices, DeviceClasses, DeviceTaintRules
    resource_claims     ResourceClaims and their templates
    podgroup            PodGroups and ElasticQuotas
    kinds               every kind that is read: its group, its path, its struct

    decode              raw objects into structs
    lenient_json        the looser forms that Kubernetes accepts: nulls, numbers, dates, any depth
    mismatch            where and how raw data does not match a type
    annotations         numbers and JSON in labels and annotations, within limits
    outside_text        text from outside in paths, headers and on terminals
    name_validation     label keys, label values and resource names, with Kubernetes' error texts

    quantity            exact amounts, read and rounded as Kubernetes does
    int64               Go's int64: which numbers fit, and how they overflow
    resource_requests   the sum of a pod's requests over its containers
    resource_amounts    what pods request and nodes offer, as integers
    label_requirements  one requirement on labels: key, operator, values
    selectors           label selectors
    node_selectors      node selectors: terms of which one must match

Law of the package:

- It is pure: values in, values out. No clock, no socket, no event loop; the only mutable state is
  caches of pure functions. It imports nothing of Moorage.
- Objects are decoded once, at the edge (`decode`), and never changed afterwards. Code behind the
  edge handles no raw dicts.
- Fields carry the snake_case of their Kubernetes names. Fields that scheduling does not read are
  ignored, not refused: a newer API server must not stop an older scheduler.
- An absent list, map or string is empty, as in Go. `None` stands for Go's nil pointer, if the
  difference matters.
- Whatever is computed here (quantities, requests, selectors, taints) is computed as Kubernetes
  computes it.
"""
