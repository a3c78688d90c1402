"""Observers of a scheduler: decision records, metrics and logs.

    records              what observers are told: attempts, bindings, evictions, reloads
    observers            the observer hooks, and who calls them
    catalogue            every metric: its name, kind, labels and buckets
    logs                 logging setup: verbosity, format, and one line per message with its fields
    log_formats          log line formats: klog's text and kube's JSON
    log_writer           writes log lines to a stream in a thread of its own
    adaptive_strategies  the weights AdaptiveSchedulingPlugin has learnt
    attempt_tracer       traces of slow and sampled attempts, for the log
    client_metrics       requests to the API server, counted under client-go's names
    decision_records     a compact record of every attempt, in bounded memory
    decision_log         one line per attempt and binding
    eviction_records     which pods were evicted for which, in bounded memory
    metric_families      cheap counters and histograms
    metric_filter        which metrics are shown, and which values of their labels
    namespace_costs      the cost per hour of each namespace's pods
    otel_spans           traces as OpenTelemetry spans
    prometheus_metrics   `Metrics`: counts, and renders all metrics for Prometheus
    repeated_failures    a failure that repeats is logged at once, then less and less often
    state_metrics        metrics read from a scheduler's state when scraped
    step_timings         durations of each step and plugin of an attempt

Law of the package: observing changes nothing. An observer that fails is switched off and named in
the log. Observing an attempt costs microseconds; whatever costs more is done when it is read, or in
a thread of its own.
"""
