"""Composition: configuration becomes profiles, profiles a scheduler, a scheduler a process.

    assembly          a scheduler put together: its features, their order, their ports
    built_in_plugins  every built-in plugin, and those of installed packages
    cache_comparison  SIGUSR2: the cache, dumped and compared with the API server
    config_bundle     a configuration with its policies and canaries, checked together
    config_sources    the files and ConfigMaps that it is read from
    config_text       one text of it, with its file or ConfigMap
    configuration_history  the last configurations in force, and how each differs
    dashboard_sources  what the dashboard of a scheduler shows
    extender_process  the process of `moorage extender serve`
    extender_profile  the profile that an extender answers with
    feed_builder      the feeds of the profiles in force
    http_service      the HTTP server of a scheduler: health checks, metrics, pages
    input_files       files that a user names, read whole or refused in one line
    inputs            what a process starts from: configuration, plugins, API server
    kube_flags        kube-scheduler's flags that a configuration file could say
    leadership        a replica's time as leader
    log_control       the `logging` settings: log, traces and latency conditions
    network_readers   which reader serves which source
    plugin_construction  plugins constructed from their arguments
    plugin_files      `--plugin file.py` and `--plugin module:Class`
    policy_features   what policies hear of their pods, and what an autoscaler should add
    process_signals   signals: stop, read the configuration again, compare the cache
    profile_builder   profiles, canaries and back-off of a configuration
    reload_thread     the thread that a configuration is read again in, for so long and no longer
    reload_reporter   what is said of each reload
    reloader          the configuration read again, and put in force or refused
    run_dashboard     the dashboard of a running process
    run_extenders     the extenders of a process; a reload may replace them
    run_process       the process of `moorage run`: connect, lead, schedule, stop
    services          what runs beside the scheduler: HTTP server, feeds, strategy metrics
    serving_flags     kube-scheduler's flags about serving

Law of the package: the one place that knows every class. It reads what it is told, puts the parts
together by their constructors, starts and stops them; it decides nothing about pods.
"""
