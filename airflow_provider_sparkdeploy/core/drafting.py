"""What the drafts of one object know, and how an operation is made of them."""

from __future__ import annotations

from dataclasses import replace

from .diff import ObjectDiff
from .lexer import combined_hash
from .names import ObjectName
from .objects import Action, ObjectDef
from .operations import Operation, Phase, operation_id
from .records import Requires, head_record
from .settings import Settings
from .state import DeployedObject, Effect, PutObject
from .tablediff import Alteration


class Context:
    """What the drafts of one object need to know. ``dirty`` says whether it must be redeployed,
    ``indexes`` which of its indexes must be rebuilt, ``component`` whether it is computed
    together with others.

    ``touched`` says whether anything is done to it at all, ``dropped`` whether teardown drops what is
    deployed of it, ``absent`` whether nothing of it is there when setup begins. ``swapped`` says that it is a
    managed materialized view which gets a new data table: the view stays, with its comment and all, and is
    pointed there. ``loses_indexes`` says that none of its indexes is there once its body is deployed.
    """

    __slots__ = (
        "absent", "component", "dependencies", "diff", "dirty", "dropped", "indexes", "loses_indexes", "requires",
        "settings", "swapped", "touched",
    )  # fmt: skip

    def __init__(
        self,
        diff: ObjectDiff,
        settings: Settings,
        dependencies: tuple[ObjectName, ...],
        requires: Requires,
        *,
        dirty: bool,
        indexes: frozenset[str],
        component: bool,
    ) -> None:
        self.diff = diff
        self.settings = settings
        self.dependencies = dependencies
        self.requires = requires
        self.dirty = dirty
        self.indexes = indexes
        self.component = component
        old, replaced = diff.old, diff.replaced
        self.touched = not diff.left
        self.dropped = (
            old is not None
            and old.kind not in ("sink", "migration")
            and (diff.drops or replaced or self._recreated)
        )
        self.absent = old is None or replaced or self.dropped
        self.swapped = (
            dirty
            and not self.absent
            and diff.new is not None
            and diff.new.kind == "materialized_view"
            and settings.materialized_views == "managed"
        )
        self.loses_indexes = self.swapped or (self.absent and (dirty or bool(diff.pending)))

    @property
    def new(self) -> ObjectDef:
        assert self.diff.new is not None
        return self.diff.new

    @property
    def _recreated(self) -> bool:
        """``redeploy: recreate``; a protected object is replaced in place all the same."""
        new = self.diff.new
        return (
            self.settings.redeploy == "recreate"
            and self.dirty
            and new is not None
            and new.kind in ("view", "function", "materialized_view", "data")
            and new.lifecycle == "managed"
        )

    @property
    def head(self) -> DeployedObject:
        """What the log keeps of it once its file is deployed, but for changes and indexes."""
        return head_record(self.new, self.dependencies)


def draft(
    context: Context,
    phase: Phase,
    action: Action,
    sql: str,
    *suffix: str,
    change: str | None = None,
    statement: int = 1,
    digest: str = "",
    effects: tuple[Effect, ...] = (),
    destructive: bool = False,
    narrows: bool = False,
    compute: str | None = None,
    index: str | None = None,
) -> Operation:
    """An operation without its place in the plan. In teardown it is about what is deployed."""
    new, old = context.diff.new, context.diff.old
    item = old if phase == "teardown" else new
    assert item is not None
    return Operation(
        id=operation_id(phase, item.name, *suffix),
        phase=phase,
        action=action,
        object=item.name,
        kind=item.kind,
        sql=sql,
        hash=digest or combined_hash(sql),
        change=change,
        statement=statement,
        destructive=destructive,
        compute=compute or (new.compute if new is not None and index is None else None),
        narrows=narrows,
        index=index,
        effects=effects,
        physical=item.physical,
    )


def alterations(context: Context, phase: Phase) -> list[Operation]:
    """One operation per difference of a table.

    What is recorded of a declaration grows with each; a script that is altered back to what
    is recorded leaves nothing new to record.
    """
    diff = context.diff
    return [
        draft(
            context, phase, "alter", alteration.sql, *_suffix(alteration), statement=number,
            effects=() if context.new.scripted else (_altered(context, alteration, number),),
            destructive=alteration.destructive, narrows=alteration.narrows,
        )
        for number, alteration in enumerate(diff.alterations, 1)
        if alteration.phase == phase
    ]  # fmt: skip


def _suffix(alteration: Alteration) -> list[str]:
    """Its part of the id; a column called index must not look like the index called add_column."""
    verb, *name = alteration.slug.split(".")
    return [verb, "named", *name] if name == ["index"] else [verb, *name]


def _altered(context: Context, alteration: Alteration, number: int) -> PutObject:
    old = context.diff.old
    assert old is not None
    if number == len(context.diff.alterations):
        return PutObject(replace(context.head, definition=alteration.after))
    # neither the old text nor the new one says what is there
    return PutObject(replace(old, hash="", digest="", definition=alteration.after, changes=(), indexes=()))
