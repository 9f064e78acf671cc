"""What is suspicious in a repository although it can be deployed."""

from __future__ import annotations

from collections.abc import Iterator

from .cycles import check_cycles
from .diagnostics import Diagnostic, near_name
from .graph import Graph, build_graph, discover
from .names import display, parse_name
from .objects import Change, ObjectDef
from .repository import Repository
from .resolve import Resolver, make_resolver
from .syntax import stumble

_NEAR = 0.8  # orders and ordres; not orders and orders_raw


def lint(repository: Repository) -> tuple[Diagnostic, ...]:
    """Every problem of the files and the graph, and every warning."""
    graph = build_graph(repository)
    _, refused = check_cycles(repository, graph)
    found = [*repository.problems, *graph.problems, *refused]
    resolver = make_resolver(repository)
    found += _misspelled(repository, graph)
    for item in repository.objects.values():
        for change in item.changes:
            found += _unparsed(item, change)
            found += _mistyped(item, change)
            found += _declared(item, change, resolver)
        found += _logical_names(item, repository)
    return tuple(sorted(set(found)))


def _warning(item: ObjectDef, line: int, code: str, message: str, advice: str) -> Diagnostic:
    return Diagnostic(item.path, line, code, message, advice, severity="warning", object=str(item.name))


def _misspelled(repository: Repository, graph: Graph) -> Iterator[Diagnostic]:
    """Names in the schemas of the repository that no file declares, and that are near to one that does."""
    folders = {
        tuple(part.casefold() for part in physical): name for name, physical in repository.schemas.items()
    }
    for name, unknown in graph.external.items():
        item = repository.objects[name]
        for text in unknown:
            *place, thing = parse_name(text) or ("",)
            schema = folders.get(tuple(part.casefold() for part in place)) if place else name.schema
            known = [other.object for other in repository.objects if other.schema == schema]
            near = near_name(thing.casefold(), known, cutoff=_NEAR)
            if schema is not None and near:
                yield _warning(
                    item, item.line, "SD224", f"the text reads {text}, and no file declares it",
                    f"{near} If it is made elsewhere, this is right.",
                )  # fmt: skip


def _unparsed(item: ObjectDef, change: Change) -> Iterator[Diagnostic]:
    for statement in change.statements:
        if not statement.parsed:
            yield _warning(
                item, statement.line, "SD210",
                "this statement could not be read in full; its references were found by looking for known names",
                "Check them with sparkdeploy graph; dependencies= overrides them.",
            )  # fmt: skip


def _mistyped(item: ObjectDef, change: Change) -> Iterator[Diagnostic]:
    """Queries that a parser does not get through."""
    for statement in change.statements if item.kind in ("view", "materialized_view") else ():
        if stopped := stumble(statement.sql):
            line, word = stopped
            where = f" near {word}" if word.strip() else ""
            yield _warning(
                item, statement.line + line - 1, "SD211", f"the query may have a typing error{where}",
                "Correct it. If Spark takes it as it is, this is wrong, and worth a report.",
            )  # fmt: skip


def _declared(item: ObjectDef, change: Change, resolver: Resolver) -> Iterator[Diagnostic]:
    """Declared dependencies against what the text refers to."""
    rules = change.dependencies
    found = {node.name for node in discover(item, change, resolver, set())} - {item.name}
    if rules.replace is not None:
        declared = {
            node.name for text in rules.replace if (node := resolver.explicit(text, item.name.schema))
        }
        excluded = {
            node.name for text in rules.exclude if (node := resolver.explicit(text, item.name.schema))
        }
        for name in sorted(declared - found):
            yield _warning(item, rules.line, "SD220", f"dependencies names {name}, which the text does not mention",
                           "Remove it, or keep it if the statement needs it in a way that cannot be seen.")  # fmt: skip
        for name in sorted(found - declared - excluded):
            yield _warning(item, rules.line, "SD221", f"the text mentions {name}, which dependencies leaves out",
                           "Add it, or name it in excludeDependencies if the order does not matter.")  # fmt: skip
        return
    for text in rules.include:
        node = resolver.explicit(text, item.name.schema)
        if node and node.name in found and not node.change:
            yield _warning(
                item,
                rules.line,
                "SD222",
                f"includeDependencies names {node.name}, which is found anyway",
                "Remove it.",
            )
    for text in rules.exclude:
        node = resolver.explicit(text, item.name.schema)
        if node and node.name not in found:
            yield _warning(item, rules.line, "SD223", f"excludeDependencies names {node.name}, which is not found in the text",
                           "Remove it.")  # fmt: skip


def _logical_names(item: ObjectDef, repository: Repository) -> Iterator[Diagnostic]:
    """A folder's name in SQL although the environment maps it to another schema."""
    for change in item.changes:
        for statement in change.statements:
            for parts in statement.references.tables:
                if len(parts) != 2 or parts[0] not in repository.schemas:
                    continue
                physical = repository.schemas[parts[0]]
                if tuple(part.casefold() for part in physical) != parts[:1]:
                    yield _warning(
                        item, statement.line, "SD205",
                        f"{display(parts)} names the folder {parts[0]}, which is {display(physical)} in this environment",
                        f"Write ${{{parts[0]}}}.{display(parts[1:])}.",
                    )  # fmt: skip
