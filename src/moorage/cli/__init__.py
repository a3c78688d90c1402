"""The command line: parse, call, render.

    main                  the `moorage` command
    lazy_group            a click group that imports a command when it is run
    command_errors        what ends a command: one line, and an exit code
    standard_streams      output that is closed, full, or not in UTF-8
    command_exit          exit codes, and signals while a command is still starting
    common                options that commands share, and exit code 2 on bad input
    bench_cmd             `moorage bench`: in-process throughput
    capacity_cmd          `moorage capacity`: how many more pods of a shape fit
    cluster_options       the cluster that `simulate`, `explain`, `capacity`, `whatif` are about
    compare_cmd           `moorage compare`: configurations side by side
    comparison_output     comparisons on the terminal: KPIs side by side, and what differs
    config_cmd            `moorage config`: look at a configuration without running it
    defragment_cmd        `moorage defragment`
    evaluate_cmd          `moorage evaluate`: conformance cases in, outcomes out
    explain_cmd           `moorage explain`: why a pod is where it is, or waits
    explain_text          an explanation, for people to read
    extender_cmd          `moorage extender`: a stock kube-scheduler asks Moorage's plugins
    extender_options      the options of `moorage extender serve`
    finished_run          `--serve`: a finished run on a dashboard, until Ctrl-C
    serve_options         its flags, without the dashboard
    kube_scheduler_flags  kube-scheduler's own flags, for manifests and habits that name them
    no_effect             what was given and has no effect
    pod_shapes            the shapes of pods that a file of `capacity --pod` holds
    plugin_cmd            `moorage plugin`: begin one, list them, check one
    probe_cmd             `moorage probe`: measure latencies to other nodes
    record_cmd            `moorage record`: recordings cut, and made anonymous
    record_options        `--record DIR`, for `run`, `simulate` and `shadow`
    replay_dashboard      `moorage replay --dashboard`: a moment of the past on a dashboard
    replay_cmd            `moorage replay`: a recording played back, decision by decision
    replay_text           how a replay came out, for people to read
    run_cmd               `moorage run`: the scheduler against a real API server
    run_options           the options of `moorage run`
    run_server            what `moorage run` answers over HTTP
    scenario_cmd          `moorage simulate` on a scenario: one run, and its KPIs
    scenario_options      options that `simulate`, `compare` and `tune` share
    server_question       questions to a running Moorage, over HTTPS
    simulate_cmd          `moorage simulate`: the scheduler on an embedded cluster
    run_progress          a progress bar of the runs of a sweep; only on a terminal
    stage_progress        a progress bar of the stages of a command that takes over a second
    shadow_cmd            `moorage shadow`: another scheduler's decisions judged, nothing touched
    shadow_text           a shadow's findings on the terminal
    snapshot_cmd          `moorage snapshot`: a live cluster as manifests
    simulate_text         what `moorage simulate` prints: a summary that fits a screen, tables
    whatif_cmd            `moorage whatif`: what becomes of a cluster if it is changed
    whatif_text           what-if answers, for people to read
    tune_cmd              weights and arguments searched on some seeds, and judged on others

Law of the package: no decision is taken here. Errors end with one clear message on standard error
and exit code 2 where the input is at fault; no traceback. A command is imported when it is run.
"""
