"""Policies for pods and nodes with GPUs.

    devices        GPUs as devices: which devices a pod holds, how it requests them, annotations
    gpu_largest_first  GPULargestFirst: of pods that wait together, the largest go first
    gpu_packing    GPUPacking: packs GPUs, down to the device, for the pods that are expected
    gpu_priority   GPUPriorityPlugin: GPU pods go to GPU nodes, and other pods stay off them
    gpu_request    GPURequest: what one pod requests of a node with GPUs
    gpu_resources  how many GPUs a pod requests, and how many a node has
    gpu_topology   GPUTopology: packs GPU pods onto the nodes and NUMA domains they fill best
    numa_domains   how many GPUs of each NUMA domain of a node are free
    packing_costs  what a placement costs the GPUs of a node, given the pods that are expected
    typical_pods   TypicalPods: which pods to expect, learnt from the pods so far

Law of the package: the arguments name the resources and labels that count as GPUs.
"""
