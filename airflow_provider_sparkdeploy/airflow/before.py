"""The text that is deployed of what an operation changes, for people who want to see the difference."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..core.names import ObjectName
    from ..core.operations import Operation
    from ..core.state import State

_LONGEST = 20_000  # characters of one text that is kept in a run
_ALL = 1_000_000  # and of all of its operations


def texts_before(operations: Iterable[Operation], state: State) -> dict[str, str]:
    """What was deployed when a plan was frozen, by operation; without texts that are very long."""
    from ..core.state import PutObject

    found: dict[str, str] = {}
    left = _ALL
    for operation in operations:
        members = [effect.record.name for effect in operation.effects if isinstance(effect, PutObject)]
        together = members if operation.action == "fixpoint" else [operation.object]
        text = deployed_text(state, together, operation.change, operation.index)
        if len(text) <= min(_LONGEST, left):
            found[operation.id] = text
            left -= len(text)
    return found


def deployed_text(
    state: State, names: Iterable[ObjectName], change: str | None = None, index: str | None = None
) -> str:
    """The text of a change, of an index, or of whole objects as they were deployed; empty where they
    were not."""
    records = [state[name] for name in names if name in state]
    if index is not None:
        return next((item.sql for record in records for item in record.indexes if item.name == index), "")
    if change is not None:
        return next((item.text for record in records for item in record.changes if item.name == change), "")
    return ";\n".join(
        record.text or ";\n\n".join(change.text for change in record.changes) for record in records
    )
