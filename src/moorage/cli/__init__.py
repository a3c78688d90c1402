"""The command line: parse, call, render.

    main                  the `moorage` command
    lazy_group            a click group that imports a command only to run it
    command_errors        how a command ends on an error: one line, and an exit code
    standard_streams      what is printed, and streams that are closed, full, or not in UTF-8
    terminal              a console that obeys no control character of what it prints
    command_exit          exit codes, and signals while a command is still starting
    common                options that commands share, and exit code 2 on bad input
    bench_cmd             `moorage bench`: in-process throughput
    capacity_cmd          `moorage capacity`: how many more pods of a shape fit
    cluster_options       which cluster `simulate`, `explain`, `capacity`, `whatif` read
    compare_cmd           `moorage compare`: configurations side by side
    comparison_output     comparisons on the terminal: KPIs side by side, and differences
    config_cmd            `moorage config`: check a configuration without running it
    defragment_cmd        `moorage defragment`: pods to evict so that idle GPUs can be used
    evaluate_cmd          `moorage evaluate`: conformance cases in, outcomes out
    explain_cmd           `moorage explain`: why a pod is on its node, or waits
    explain_text          an explanation as text
    extender_cmd          `moorage extender`: a stock kube-scheduler asks Moorage's plugins
    extender_options      the options of `moorage extender serve`
    finished_run          `--serve`: a finished run on a dashboard, until Ctrl-C
    serve_options         the flags of `--serve`, without importing the dashboard
    kube_scheduler_flags  kube-scheduler's own flags, for manifests and habits that use them
    no_effect             reports what was given without effect
    pod_shapes            the shapes of pods in a file of `capacity --pod`
    plugin_cmd            `moorage plugin`: create one, list them, check one
    probe_cmd             `moorage probe`: measure latencies to other nodes
    record_cmd            `moorage record`: recordings cut, and made anonymous
    record_options        `--record DIR`, for `run`, `simulate` and `shadow`
    replay_dashboard      `moorage replay --dashboard`: a moment of the past on a dashboard
    replay_cmd            `moorage replay`: a recording played back, decision by decision
    replay_text           the result of a replay as text
    run_cmd               `moorage run`: the scheduler against a real API server
    run_options           the options of `moorage run`
    run_server            the HTTP endpoints of `moorage run`
    scenario_cmd          `moorage simulate` on a scenario: one run, and its KPIs
    scenario_options      options that `simulate`, `compare` and `tune` share
    server_question       questions to a running Moorage, over HTTPS
    simulate_cmd          `moorage simulate`: the scheduler on an embedded cluster
    run_progress          a progress bar for the runs of a sweep; only on a terminal
    stage_progress        a progress bar for stages that take over a second
    shadow_cmd            `moorage shadow`: judges another scheduler's decisions, changes nothing
    shadow_text           the findings of a shadow as text
    snapshot_cmd          `moorage snapshot`: a live cluster as manifests
    simulate_text         the output of `moorage simulate`: a short summary, tables
    whatif_cmd            `moorage whatif`: what happens to a cluster if it is changed
    whatif_text           what-if answers as text
    tune_cmd              searches weights and arguments on some seeds, judges them on others

Law of the package: it makes no scheduling decision. An error ends a command with one clear message
on standard error, without traceback, and with exit code 2 if the input is at fault. A command is
imported when it is run.
"""
