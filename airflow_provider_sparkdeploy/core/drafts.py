"""The setup and export operations of one object, before they are put in order.

Each function answers one question: what does this object need? Nothing here looks at another
object. (What is taken away of an object is in ``drops``.)
"""

from __future__ import annotations

from dataclasses import replace

from .csvdata import create_sql
from .drafting import Context, alterations, draft
from .lexer import combined_hash
from .names import Node, quote, quote_literal
from .objects import Action, ObjectDef, Statement
from .operations import Operation
from .records import change_record, index_record
from .state import DeployedObject, DropIndex, Effect, PutChange, PutIndex, PutObject, Settle
from .statement import alter_view, or_replace, view_text, with_query
from .viewheader import COMMENT, HeaderChange, header_changes, stated_comment

# What ALTER VIEW changes of a view beside its query; None where it is not altered in place.
Header = tuple[HeaderChange, ...] | None


def setup(context: Context) -> dict[Node, list[Operation]]:
    """Everything that brings the object to what its file says, by change."""
    diff = context.diff
    if diff.new is None or diff.drops or not context.touched or diff.new.kind == "sink":
        return {}
    new = context.new
    found: dict[Node, list[Operation]] = {}
    if new.scripted:
        found = _scripted(context)
        after = [*alterations(context, "setup"), *_comment(context)]
    elif new.kind == "table":
        after = _table(context)
    elif context.dirty:
        after = _stateless(context, None if context.absent else _header_changes(context))
    else:
        after = _comment(context)
    after += _indexes(context)
    if after:
        found.setdefault(Node(*new.name, new.changes[-1].name), []).extend(after)
    if found and not context.component:
        operations = list(found.values())[-1]
        operations[-1] = operations[-1].leaving(Settle(new.name, new.digest))
    return found


def export(context: Context) -> list[Operation]:
    """The statements of a sink."""
    diff = context.diff
    if diff.new is None or diff.new.kind != "sink" or not context.dirty or not context.touched:
        return []
    statements = context.new.body.statements
    record = PutObject(replace(context.head, digest=context.new.digest))
    return [
        draft(
            context, "export", "run", statement.sql, str(number), statement=number, digest=statement.hash,
            effects=(record,) if number == len(statements) else (), destructive=statement.destructive,
        )
        for number, statement in enumerate(statements, 1)
    ]  # fmt: skip


def fixpoint(contexts: list[Context], reasons: tuple[tuple[str, ...], ...]) -> Operation:
    """The one operation that computes a cyclic component, named after its first member."""
    statements = [context.new.body.statements[0] for context in contexts]
    operation = draft(
        contexts[0], "setup", "fixpoint", ";\n".join(statement.sql for statement in statements), "fixpoint",
        digest=combined_hash(*(statement.hash for statement in statements)),
        effects=(
            *(_computed(context) for context in contexts),
            *(effect for context in contexts for effect in _lost_indexes(context)),
        ),
    )  # fmt: skip
    return replace(operation, reasons=reasons)


def _computed(context: Context) -> PutObject:
    """A member of a component once it is computed; its indexes, if any, come after."""
    return PutObject(
        context.head if context.new.indexes else replace(context.head, digest=context.new.digest)
    )


def _scripted(context: Context) -> dict[Node, list[Operation]]:
    """One operation per statement; each also records how far its change has come."""
    new = context.new
    head = PutObject(_body_record(context))
    return {
        Node(*new.name, pending.change.name): [
            draft(
                context, "setup", statement.action, statement.sql, pending.change.name, str(number),
                change=pending.change.name, statement=number, digest=statement.hash,
                effects=(head, PutChange(new.name, change_record(new.name, pending.change, context.requires, number))),
                destructive=statement.destructive, narrows=statement.destructive,
                compute=pending.change.compute,
            )
            for number, statement in enumerate(pending.change.statements, 1)
            if number > pending.start
        ]
        for pending in context.diff.pending
    }  # fmt: skip


def _body_record(context: Context, header: Header = None) -> DeployedObject:
    """What is recorded once the body is deployed: the comment is not set yet if it is due."""
    if not _comment_due(context, header):
        return context.head
    before = None if _made_anew(context, header) else _comment_before(context)
    return replace(context.head, comment=before, definition=context.new.definition)


def _table(context: Context) -> list[Operation]:
    """A declarative table: created, or altered difference by difference."""
    if not context.absent:
        return alterations(context, "setup")
    statement = context.new.body.statements[0]
    record = PutObject(_body_record(context))
    create = draft(context, "setup", "create", statement.sql, digest=statement.hash, effects=(record,))
    return [create, *_comment(context)]


def _stateless(context: Context, header: Header) -> list[Operation]:
    """The body of an object that must be redeployed, and its comment where that is lost or new."""
    new = context.new
    record = PutObject(_body_record(context, header))
    if new.kind == "data":
        return [*_data(context, record), *_comment(context)]
    statement = new.body.statements[0]
    action, sql = _body(context, header)
    if header:
        return [*_view(context, record, sql, header), *_comment(context, header)]
    if context.component:
        if not context.absent:
            return _comment(context)
        record = PutObject(replace(record.record, hash=""))  # not done before the fixpoint is
    effects: tuple[Effect, ...] = (record, *_lost_indexes(context))
    body = draft(context, "setup", action, sql, digest=statement.hash, effects=effects)
    return [body, *_comment(context, header)]


def _view(
    context: Context, record: PutObject, sql: str, changes: tuple[HeaderChange, ...]
) -> list[Operation]:
    """A view of which more than the query changed, in place: the query first, because that is what
    Spark may refuse; then its properties. Until the last of them the log has the old ones."""
    old = context.diff.old
    assert old is not None
    statement = context.new.body.statements[0]
    text = with_query(old.text, statement.sql[statement.query :])
    half = PutObject(replace(record.record, hash="", text=text))
    body = draft(context, "setup", "replace", sql, digest=statement.hash, effects=(half,))
    after = [
        draft(context, "setup", "alter", change.sql, change.slug, effects=(half,)) for change in changes[:-1]
    ]
    last = draft(context, "setup", "alter", changes[-1].sql, changes[-1].slug, effects=(record,))
    return [body, *after, last]


def _body(context: Context, header: Header) -> tuple[Action, str]:
    """Created, refreshed, or replaced in place, so that readers never miss it."""
    new = context.new
    statement = new.body.statements[0]
    if context.absent:
        return "create", statement.sql
    if new.kind == "materialized_view":
        return "replace" if context.diff.changed else "refresh", statement.sql
    if header is not None:
        return "replace", alter_view(new.physical, statement.sql[statement.query :])
    return "replace", or_replace(statement.sql)


def _header_changes(context: Context) -> Header:
    """What ALTER VIEW must change of a view beside its query, which it swaps in one metastore call;
    None where it is not enough: it cannot list columns."""
    new, old = context.new, context.diff.old
    statement = new.body.statements[0]
    if new.kind != "view" or not statement.query or old is None or not old.text:
        return None
    if context.settings.catalog_type(new.physical) != "builtin":
        return None
    if _same_header(statement, old.text):
        return ()
    kept = frozenset({COMMENT}) if new.comment is not None else frozenset[str]()  # that is set apart
    return header_changes(new.physical, old.text, statement.sql, kept)


def _same_header(statement: Statement, deployed: str) -> bool:
    """Whether two CREATE VIEW statements differ in nothing but the query."""
    wanted = statement.sql
    header = wanted[: statement.query]
    if header[-1:].isspace() and deployed.startswith(header):
        return True  # letter for letter, which is nearly always so, and need not be lexed
    new, old = view_text(wanted), view_text(deployed)
    return new is not None and old is not None and new.header == old.header


def _data(context: Context, record: PutObject) -> list[Operation]:
    new = context.new
    assert new.definition is not None
    found = []
    if context.absent:
        empty = PutObject(replace(record.record, hash=""))  # not done before the rows are in
        sql = create_sql(new.physical, new.definition)
        found.append(draft(context, "setup", "create", sql, "create", effects=(empty,)))
    sql = new.body.statements[0].sql
    found.append(draft(context, "setup", "load", sql, "load", digest=new.body.hash, effects=(record,)))
    return found


def _made_anew(context: Context, header: Header) -> bool:
    """Whether setup makes the object without the comment that it had: CREATE OR REPLACE VIEW
    replaces the properties with the text."""
    return context.absent or (context.new.kind == "view" and context.dirty and header is None)


def _comment_due(context: Context, header: Header) -> bool:
    new = context.new
    if new.kind == "table" and not new.scripted and not context.absent:
        return False  # an alteration of the table sees to it
    if new.comment is None and not context.diff.comment:
        return _comment_left(context)
    return new.comment is not None if _made_anew(context, header) else context.diff.comment


def _comment_left(context: Context) -> bool:
    """Whether a managed materialized view is swapped, which keeps the comment, and its statement
    no longer has the one that it had."""
    if not context.swapped or not context.diff.changed:
        return False
    return _comment_before(context) is not None and _stated(context.new) is None


def _comment_before(context: Context) -> str | None:
    """The comment that is deployed: the header's, or else that of a materialized view's statement."""
    old = context.diff.old
    if old is None or old.comment is not None or not context.swapped:
        return old.comment if old else None
    return stated_comment(old.text, old.definition)


def _stated(new: ObjectDef) -> str | None:
    return stated_comment(new.body.statements[0].sql, new.definition)


def _comment(context: Context, header: Header = None) -> list[Operation]:
    """The comment from the header, which is set apart from the body; without one it is that of the
    statement, or removed."""
    if not _comment_due(context, header):
        return []
    new = context.new
    comment = new.comment
    if comment is None and new.kind in ("view", "materialized_view"):
        comment = _stated(new)
    literal = None if comment is None else quote_literal(comment)
    if new.kind in ("table", "data"):
        sql = f"COMMENT ON TABLE {quote(new.physical)} IS {literal or 'NULL'}"
    elif literal is None:
        sql = f"ALTER VIEW {quote(new.physical)} UNSET TBLPROPERTIES IF EXISTS ('comment')"
    else:
        sql = f"ALTER VIEW {quote(new.physical)} SET TBLPROPERTIES ('comment' = {literal})"
    record = context.head
    if context.component:  # its body is not done before the fixpoint is
        old = None if context.absent else context.diff.old
        record = replace(
            record, hash=old.hash if old else "", text=old.text if old else record.text, due=context.dirty
        )
    return [draft(context, "setup", "alter", sql, "comment", effects=(PutObject(record),))]


def _lost_indexes(context: Context) -> list[DropIndex]:
    """What is no longer true once a materialized view has a new data table. (Where an object is
    dropped, that takes them from the log.)"""
    old = context.diff.old
    if old is None or not context.swapped:
        return []
    return [DropIndex(old.name, index.name) for index in old.indexes]


def _indexes(context: Context) -> list[Operation]:
    """Indexes that changed, and all of them where they are lost."""
    new = context.new
    if not new.indexes:
        return []
    return [
        draft(
            context, "setup", "index", index.sql, index.name, "index", digest=index.hash,
            effects=(PutIndex(new.name, index_record(index)),), compute=index.compute, index=index.name,
        )
        for index in new.indexes
        if context.loses_indexes or index.name in context.indexes
    ]  # fmt: skip
