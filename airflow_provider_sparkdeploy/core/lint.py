"""What is suspicious in a repository although it can be deployed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .cycles import check_cycles
from .diagnostics import NOWHERE, Diagnostic, Place, near_name
from .graph import Graph, build_graph, discover
from .names import Node, display, parse_name
from .objects import DEPENDENCY_RULES, Change, ObjectDef
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
    found += _declared(repository, resolver)
    for item in repository.objects.values():
        for change in item.changes:
            found += _unparsed(item, change)
            found += _mistyped(item, change)
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


def _declared(repository: Repository, resolver: Resolver) -> Iterator[Diagnostic]:
    """Declared dependencies against what the text refers to: what a header says, against the text of all
    changes that it is for."""
    headers: dict[tuple[str, Place], list[_User]] = {}
    for item in repository.objects.values():
        for change in item.changes:
            rules = change.dependencies
            for attribute in DEPENDENCY_RULES:
                replaced = rules.replace is not None and attribute != DEPENDENCY_RULES[0]
                if rules.place(attribute) != NOWHERE and not replaced:
                    user = _User(item, change, resolver)
                    headers.setdefault((attribute, rules.place(attribute)), []).append(user)
    for (attribute, place), users in headers.items():
        if attribute == "dependencies":
            yield from _replaced(place, users)
        elif attribute == "includeDependencies":
            for node in users[0].named(users[0].rules.include):
                if not node.change and all(node.name in user.found for user in users):
                    yield users[0].warning(
                        place, "SD222", f"includeDependencies names {node.name}, which is found anyway", "Remove it."
                    )  # fmt: skip
        else:
            for node in users[0].named(users[0].rules.exclude):
                if not any(node.name in user.found for user in users):
                    yield users[0].warning(
                        place, "SD223", f"excludeDependencies names {node.name}, which is not found in the text",
                        "Remove it.",
                    )  # fmt: skip


class _User:
    """A change whose dependencies are declared, and what its text refers to."""

    def __init__(self, item: ObjectDef, change: Change, resolver: Resolver) -> None:
        self.item, self.change, self.rules = item, change, change.dependencies
        self.found = {node.name for node in discover(item, change, resolver, set())} - {item.name}
        self._resolver = resolver

    def named(self, texts: Iterable[str]) -> list[Node]:
        """What the names in its header mean."""
        schema = self.item.name.schema
        return [node for text in texts if (node := self._resolver.explicit(text, schema))]

    def warning(self, place: Place, code: str, message: str, advice: str) -> Diagnostic:
        about = str(self.item.name) if place[0] == self.item.path else ""
        return Diagnostic(*place, code, message, advice, severity="warning", object=about)


def _replaced(place: Place, users: list[_User]) -> Iterator[Diagnostic]:
    """A list that takes the place of what is found."""
    declared = {node.name for node in users[0].named(users[0].rules.replace or ())}
    for name in sorted(declared.difference(*(user.found for user in users))):
        yield users[0].warning(
            place, "SD220", f"dependencies names {name}, which the text does not mention",
            "Remove it, or keep it if the statement needs it in a way that cannot be seen.",
        )  # fmt: skip
    for user in users:
        excluded = {node.name for node in user.named(user.rules.exclude)}
        own = place if place[0] == user.item.path else (user.item.path, user.change.line)
        for name in sorted(user.found - declared - excluded):
            yield user.warning(
                own, "SD221", f"the text mentions {name}, which dependencies leaves out",
                "Add it, or name it in excludeDependencies if the order does not matter.",
            )  # fmt: skip


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
