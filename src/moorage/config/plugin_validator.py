"""Validates the plugins a profile names: unknown, removed, duplicate or at a wrong point."""

from collections.abc import Iterator
from typing import Literal

from moorage.config.conversion import REMOVED
from moorage.config.field_errors import Path, Report, invalid, required
from moorage.config.plugin_catalogue import PluginCatalogue, did_you_mean
from moorage.config.types import (
    ALL,
    API_VERSION,
    MULTI_POINT,
    POINTS,
    WEIGHTED,
    PluginRef,
    Plugins,
    PluginSet,
)

UnknownPlugins = Literal["error", "warn"]


class PluginValidator:
    """Accepts names in the catalogue, once per point, at points that the plugin implements.

    `converted`: the document was of an older version, in which removed plugins are replaced or left
    out; in v1 they are refused.
    """

    def __init__(
        self,
        catalogue: PluginCatalogue,
        unknown: UnknownPlugins,
        report: Report,
        *,
        converted: bool,
    ) -> None:
        self.catalogue = catalogue
        self.report = report
        self._unknown = unknown
        self.converted = converted

    def plugins(self, plugins: Plugins, path: Path) -> Plugins:
        """Screen all plugin sets of a profile; `path` leads to its `plugins`."""
        points = (MULTI_POINT, *POINTS)
        return plugins.replace(**{at: self._set(plugins.at(at), at, path) for at in points})

    def removed(self, name: str, path: Path) -> bool:
        """Say whether the plugin is one kube-scheduler no longer has, and report it."""
        if name not in REMOVED or name in self.catalogue:
            return False
        gone = REMOVED[name]
        if self.converted:
            fate = f"{gone.instead} takes its place" if gone.instead else "it is left out"
            self.report.warn(path, f'plugin "{name}" no longer exists, {fate}: {gone.advice}')
        else:
            detail = (
                f'was invalid in version "v1" (KubeSchedulerConfiguration is version '
                f'"{API_VERSION}"): {gone.advice}'
            )
            self.report.problem(path, invalid(name, detail))
        return True

    def _set(self, plugins: PluginSet, point: str, path: Path) -> PluginSet:
        enabled = tuple(self._enabled(plugins.enabled, point, (*path, point, "enabled")))
        disabled = tuple(self._disabled(plugins.disabled, (*path, point, "disabled")))
        return PluginSet(enabled, disabled)

    def _enabled(self, refs: tuple[PluginRef, ...], point: str, path: Path) -> Iterator[PluginRef]:
        seen: set[str] = set()
        named = {ref.name for ref in refs}
        for i, ref in enumerate(refs):
            at = (*path, i)
            if self.removed(ref.name, at):
                instead = REMOVED[ref.name].instead
                if instead is None or instead in named | seen:
                    continue
                ref = PluginRef(instead, ref.weight)
            if not self._runs(ref, point, at):
                continue
            if ref.name in seen:
                also = ", ".join(self.catalogue.others(ref.name))
                names = f" (also known as {also})" if also else ""
                detail = f'plugin "{ref.name}" already registered{_as(point)}{names}'
                self.report.problem(at, detail)
            seen.add(ref.name)
            yield ref

    def _runs(self, ref: PluginRef, point: str, path: Path) -> bool:
        if not ref.name:
            self.report.problem((*path, "name"), required())
            return False
        points = self.catalogue.points(ref.name)
        if points is None:
            return self.catalogue.is_open or self._refuse_unknown(ref.name, path)
        if point != MULTI_POINT and point not in points:
            where = ", ".join(at for at in POINTS if at in points) or "at no point"
            detail = f'ignored: plugin "{ref.name}" does not extend {_plugin_type(point)} plugin'
            self.report.warn(path, f"{detail}, only {where}")
            return False
        for fault in self.catalogue.faults(ref.name):
            self.report.problem(path, f'plugin "{ref.name}" cannot run: {fault}')
        if ref.weight < 0 and point in (*WEIGHTED, MULTI_POINT):
            detail = "is negative, which kube-scheduler mostly refuses: what scores high is avoided"
            self.report.warn((*path, "weight"), detail)
        return True

    def _refuse_unknown(self, name: str, path: Path) -> bool:
        similar = did_you_mean(self.catalogue.similar(name))
        if self._unknown == "warn":
            self.report.warn(path, f'plugin "{name}" is not known and is left out{similar}')
        else:
            detail = (
                f'plugin "{name}" is not known: load it with --plugin file.py or '
                f"--plugin module:Class, or take it out{similar}"
            )
            self.report.problem(path, detail)
        return False

    def _disabled(self, refs: tuple[PluginRef, ...], path: Path) -> Iterator[PluginRef]:
        for i, ref in enumerate(refs):
            is_known = ref.name == ALL or ref.name in self.catalogue
            if ref.name in REMOVED and not is_known:
                self.report.warn((*path, i), f'plugin "{ref.name}" no longer exists')
            elif is_known or self.catalogue.is_open:
                yield ref
            else:
                similar = did_you_mean(self.catalogue.similar(ref.name))
                self.report.warn((*path, i), f'plugin "{ref.name}" is not known{similar}')


def _as(point: str) -> str:
    return "" if point == MULTI_POINT else f' as "{_plugin_type(point)}"'


def _plugin_type(point: str) -> str:
    """Name the interface of a point as kube-scheduler does."""
    return f"{point[0].upper()}{point[1:]}Plugin"
