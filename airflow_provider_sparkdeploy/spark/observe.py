"""What a script has made of a table, looked up when its operation is done."""

from __future__ import annotations

from dataclasses import replace

from ..core.catalog import REDACTED
from ..core.objects import TableDef
from ..core.state import Effect, Observe
from .catalog import Wanted, inspect
from .session import Sessions, SparkFailure
from .target import Target


def looked_up(effects: tuple[Effect, ...], sessions: Sessions, target: Target) -> tuple[Effect, ...]:
    """The effects of an operation that is done, with the definitions that it left.

    The statement has taken effect whatever comes of this: what cannot be looked up is not known.
    """
    wanted = {
        effect.object: Wanted(effect.physical, "table", target.catalog_type(effect.physical), exact=True)
        for effect in effects
        if isinstance(effect, Observe)
    }
    if not wanted:
        return effects
    try:
        found = inspect(sessions, wanted, data_schema=target.data_schema).objects
    except SparkFailure:
        return effects
    tables = {
        name: _told(item.definition) for name, item in found.items() if item.kind == "table" and item.readable
    }
    return tuple(
        replace(effect, definition=tables.get(effect.object)) if isinstance(effect, Observe) else effect
        for effect in effects
    )


def _told(definition: TableDef) -> TableDef:
    """Without the values that Spark hides: nobody could put them back."""
    told = tuple(entry for entry in definition.properties if entry[1] != REDACTED)
    return replace(definition, properties=told)
