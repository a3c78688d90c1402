"""Moorage's own plugins, in one explicit table; `moorage.plugins.registry` joins it to the rest."""

from moorage.framework.plugin import Plugin
from moorage.policies.gang import GangScheduling

POLICIES: tuple[type[Plugin], ...] = (GangScheduling,)
