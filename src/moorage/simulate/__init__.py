"""The scheduler on an embedded cluster: the same code with other edges.

    manifest_files      files and folders of Kubernetes objects, each with its place
    folder_contents     the manifests of a folder, and what else lies there
    manifest_texts      the documents of one text: YAML, JSON
    manifest_policies   SchedulingPolicy documents among manifests
    live_manifests      manifests of a live cluster, read with list requests alone
    live_overlay        files over a live cluster: the file wins where an object is in both
    private_fields      removes fields that may hold a secret from objects of a live cluster
    manifest_selection  the manifests that scheduling reads, each object once
    what_if             changes to a cluster before it is simulated
    size_limits         how many pods and nodes are held in memory
    simulation          runs the scheduler until nothing is left to do
    run_limits          when a run ends although plugins keep it busy
    attempt_log         the last attempt at each pod, and every error
    plugin_failures     plugin failures that are the error of no attempt
    skipped_extenders   extenders that failed and were ignored
    evictions           which pods were evicted, and for whom
    simulated_feeds     measurements from manifests, not from the network
    simulation_report   where pods went, why one did not, who left, how full nodes are

Scenarios, in which pods arrive over time, run, complete and are evicted:

    scenario            a cluster, the pods that arrive, and what happens to them
    trace_table         CSV and Parquet, columns and cells checked
    trace_files         nodes.csv and pods.csv
    trace_scenario      a scenario from two tables
    scenario_file       a scenario from a YAML file, checked as configuration is
    scenario_schema     the types and defaults of such a file
    scenario_shapes     the nodes and pods it describes
    scenario_manifests  nodes and pods from manifests, also from a live cluster
    trace_formats       openb, Philly, tables with columns of their own
    arrival_generators  Poisson, by time of day, bursts
    cron_schedule       when CronJobs start
    node_pool           nodes fail, are reclaimed, join and leave
    autoscaler          starts nodes for pending pods
    pod_template        what arriving pods are made from
    candidate           a configuration to be tried
    scenario_run        one run in virtual time, and its KPIs
    attempt_count       counts the attempts of a run, and keeps its errors
    direct_engine       a faster run for scenarios that need none of the scheduler's features
    template_classes    pod classes, found by the template that the pods were made from
    simulated_server    the API server of such a run: it holds structs and copies nothing
    pod_lifecycle       a pod arrives, runs, completes, or is stopped and created again
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

Law of the package: no package below it contains an `if simulating`. Only the API server (in
memory) and the clock (virtual) differ from a real run.
"""
