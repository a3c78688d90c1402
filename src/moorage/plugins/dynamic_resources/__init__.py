"""DynamicResources: pods get the devices that their claims ask for.

    plugin              the extension points
    pod_claims          the claims of a pod: which they are, and whether they can be used
    group_claims        claims of a pod group, reserved for the group as a whole
    claim_state         what one attempt knows of the pod's claims
    claim_columns       search results by node for pods with equal claims, kept between attempts
    node_questions      the device requests of a pod, node by node
    shared_verdicts     whether a node has what is asked, for all who ask under other names
    extended_resources  extended resources that device classes stand for, as claims
    binding_conditions  devices that have to be made ready before the pod is bound
    claim_writer        what is written about claims: allocation, reservation, and taking it back
    queueing_hints      which changes may let a refused pod be scheduled

Law of the package: which devices there are, which are taken and which a claim would get is decided
by `moorage.devices`. Decisions are pure. Only PreBind writes; writes that other points need become
errands.
"""
