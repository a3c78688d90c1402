"""Composition: configuration becomes profiles, profiles a scheduler, a scheduler a process.

    assembly          puts a scheduler together: its features, their order, their ports
    built_in_plugins  every built-in plugin, and those of installed packages
    cache_comparison  SIGUSR2: the cache, dumped and compared with the API server
    config_bundle     a configuration with its policies and canaries, checked together
    config_sources    the files and ConfigMaps that a configuration is read from
    config_text       one text of a configuration, with its file or ConfigMap
    configuration_history  the last configurations in force, and how each differs
    dashboard_sources  what the dashboard of a scheduler shows
    extender_process  the process of `moorage extender serve`
    extender_profile  the profile that an extender answers with
    feed_builder      the feeds of the profiles in force
    http_service      the HTTP server of a scheduler: health checks, metrics, pages
    input_files       files that a user names, read whole or refused with one line
    inputs            what a process starts from: configuration, plugins, API server
    kube_flags        kube-scheduler's flags that a configuration file could set
    leadership        a replica's time as leader
    log_control       the `logging` settings: log, traces and latency conditions
    network_readers   the reader for each source
    output_files      files that a command makes: whole, private, through nobody's link
    plugin_construction  plugins constructed from their arguments
    plugin_files      `--plugin file.py` and `--plugin module:Class`
    policy_features   tells policies of their pods' outcomes, hints at nodes to add
    process_signals   signals: stop, read the configuration again, compare the cache
    profile_builder   profiles, canaries and backoff of a configuration
    reload_thread     the thread in which a configuration is read again, with a time limit
    reload_reporter   reports each reload
    reloader          reads the configuration again, and puts it in force or refuses it
    run_dashboard     the dashboard of a running process
    run_extenders     the extenders of a process; a reload may replace them
    run_process       the process of `moorage run`: connect, lead, schedule, stop
    services          what runs beside the scheduler: HTTP server, feeds, strategy metrics
    serving_flags     kube-scheduler's flags about serving

Law of the package: the one place that knows every class. It reads the inputs, puts the parts
together through their constructors, starts and stops them. It decides nothing about pods.
"""
