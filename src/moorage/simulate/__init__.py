"""The scheduler on an embedded cluster: the same code with other edges.

    manifest_files      files and folders of Kubernetes objects, each with its place
    folder_contents     the manifests of a folder, and what else lies there
    manifest_texts      the documents of one text: YAML, JSON
    manifest_policies   SchedulingPolicy documents among manifests
    live_manifests      manifests of a live cluster, read by lists alone
    live_overlay        files over a live cluster: what is in both is the file's
    private_fields      what may hold a secret, taken out of objects of a live cluster
    manifest_selection  the manifests that scheduling reads, each object once
    what_if             changes to a cluster before it is simulated
    size_limits         how many pods and nodes are held in memory
    simulation          the scheduler runs until nothing is left to do
    run_limits          when a run is over, whatever plugins do
    attempt_log         what the scheduler said: the last attempt at each pod, every error
    plugin_failures     what plugins did wrong and no attempt was charged with
    skipped_extenders   extenders that decisions went on without
    evictions           who had to leave, and for whom
    simulated_feeds     measurements from manifests, not from the network
    simulation_report   where pods went, why one did not, who left, how full nodes are

Scenarios, where pods arrive over time, run, end and are stopped:

    scenario            a cluster, the pods that come to it, what happens to them
    trace_table         CSV and Parquet, columns and cells checked
    trace_files         nodes.csv and pods.csv
    trace_scenario      a scenario from two tables
    scenario_file       a scenario from a YAML file, checked as configuration is
    scenario_schema     what such a file may say
    scenario_shapes     its nodes and pods
    scenario_manifests  nodes and pods from manifests, also from a live cluster
    trace_formats       openb, Philly, tables with columns of their own
    arrival_generators  Poisson, by time of day, bursts
    cron_schedule       when CronJobs start
    node_pool           nodes fail, are reclaimed, come and go
    autoscaler          nodes for pods that wait
    pod_template        what arriving pods are made from
    candidate           a configuration to be tried
    scenario_run        one run in virtual time, and its KPIs
    attempt_count       how many attempts it made, and what went wrong in them
    direct_engine       the same without the scheduler's features, where none is needed
    template_classes    classes of pods, found by the template they were made from
    simulated_server    the API server of such a run: structs, no copies
    pod_lifecycle       arrival, running, ending, being stopped and coming again
    sweep               every configuration with every seed, on all cores
    dask_executor       the same on a Dask cluster
    comparison          KPIs side by side, and how they differ
    student_t           confidence intervals
    workload_changes    who gained and who lost
    kpi_names           the names of KPIs, checked before anything is run
    failure_rules       `--fail-if 'p95_wait > +5%'`
    search_space        what tuning may change
    tuning              values searched on some seeds, judged on others
    report              a comparison as a page to read and print
    result_table        every run as a row of CSV or Parquet

Law of the package: there is no `if simulating` anywhere below. What differs is the API server
(in memory) and the clock (virtual).
"""
