"""A moment of a recording: explained, compared with other configurations, or kept as manifests."""

from collections.abc import Sequence
from pathlib import Path

from moorage.app.inputs import read_configuration
from moorage.app.profile_builder import build_profiles
from moorage.config.field_errors import InputError
from moorage.explain.explanation import Explanation
from moorage.explain.sources import as_it_stands, full_name
from moorage.recording.configuration import NO_PLUGINS, LoadedPlugins, load_text
from moorage.recording.entries import Placed
from moorage.recording.manifests import manifests_at
from moorage.recording.play import Player
from moorage.recording.what_if import what_if
from moorage.simulate.candidate import read_candidates
from moorage.simulate.comparison import Comparison

AS_RECORDED = "as recorded"


def compared(
    folder: Path, attempt: str, configs: Sequence[str], plugins: LoadedPlugins = NO_PLUGINS
) -> Comparison:
    """The KPIs of other configurations, if they had decided from just before an attempt on."""
    player = Player(folder, plugins)
    replay = player.play_until(attempt).replay
    assert replay.configured is not None
    worlds = {AS_RECORDED: plugins.profiles(replay.configured)}
    for candidate in read_candidates(configs, plugins.named):
        loaded = candidate.load()
        guard = loaded.moorage.plugin_guard
        worlds[candidate.name] = build_profiles(loaded.configuration, candidate.plugins(), guard)
    return what_if(replay, player.rest, worlds)


def explained(
    folder: Path,
    attempt: str,
    pod: str = "",
    namespace: str = "",
    config: str | None = None,
    plugins: LoadedPlugins = NO_PLUGINS,
) -> Explanation:
    """Explain a pod on the cluster as it was just before an attempt.

    Without `pod`, the pod of the attempt is explained, on the node that the attempt chose. Without
    `config`, the recorded configuration is used.
    """
    stop = Player(folder, plugins).play_until(attempt)
    then = stop.replay.configured
    assert then is not None
    known = plugins.load(then)
    loaded = (
        load_text(then.text, known).loaded if config is None else read_configuration(config, known)
    )
    source = as_it_stands(manifests_at(stop.replay), loaded, known, stop.replay.now)
    if stop.entry is None:
        if not pod:
            raise InputError([f"--at {attempt}: name the pod, too"])
        return source.explain(pod, namespace)
    attempted = stop.replay.pods[stop.entry.uid].pod.key
    named = full_name(pod, namespace) if pod else attempted
    outcome = stop.entry.outcome
    chosen = outcome.node if named == attempted and isinstance(outcome, Placed) else ""
    return source.explain(named, node=chosen)
