"""From changes to an ordered list of operations.

Teardown runs in the reverse order of the *deployed* dependencies, setup in the order of the
*new* ones, export last. An edge reaches through objects that need nothing, so the order
through unchanged objects is kept, and every operation of an object waits for everything
that the object depends on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from .cycles import Component
from .deployed import deployed_graph
from .diff import Diff
from .dirty import Dirty, Reason, index_fact, object_fact
from .drafting import Context
from .drafts import export, fixpoint, setup
from .drops import teardown
from .graph import Graph
from .names import Node, ObjectName
from .objects import Index
from .operations import Operation
from .order import components as strong_components
from .order import levels
from .repository import Repository

Reasons = tuple[tuple[str, ...], ...]


def build_operations(
    repository: Repository,
    graph: Graph,
    cyclic: tuple[Component, ...],
    diff: Diff,
    dirty: Dirty,
    selected: frozenset[ObjectName] | None,
    held: frozenset[ObjectName] = frozenset(),
) -> tuple[Operation, ...]:
    """All operations, in an order in which each comes after what it depends on; also those of
    ``held`` objects, which make nothing else dirty."""
    return _Builder(repository, graph, cyclic, diff, dirty, selected, held).run()


class _Builder:
    def __init__(
        self,
        repository: Repository,
        graph: Graph,
        cyclic: tuple[Component, ...],
        diff: Diff,
        dirty: Dirty,
        selected: frozenset[ObjectName] | None,
        held: frozenset[ObjectName],
    ) -> None:
        self.repository = repository
        self.graph = graph
        self.dirty = dirty
        self.diff = diff
        self.component = {name: item for item in cyclic for name in item.members}
        self.contexts: dict[ObjectName, Context] = {}
        apart = [
            name
            for name, entry in diff.objects.different.items()
            if entry.comment or entry.indexes_removed or entry.due
        ]
        indexed = [fact.object for fact in dirty.facts("index")]
        for name in sorted({*(fact.object for fact in dirty.facts("object")), *indexed, *apart, *held}):
            if selected is None or name in selected:
                entry = diff.objects[name]
                self.contexts[name] = Context(
                    entry,
                    repository.settings,
                    graph.depends_on.get(name, ()),
                    graph.requires,
                    dirty=object_fact(name) in dirty or entry.due or name in held,
                    indexes=_dirty_indexes(name, entry.new.indexes if entry.new else (), dirty),
                    component=name in self.component,
                )

    def run(self) -> tuple[Operation, ...]:
        down = self._teardown()
        torn_down: dict[ObjectName, list[str]] = {}
        for operation in down:
            torn_down.setdefault(operation.object, []).append(operation.id)
        return (*down, *self._setup(torn_down))

    def _reasons(self, operation: Operation) -> Reasons:
        found = self.dirty.reasons(object_fact(operation.object))
        if operation.index is not None:
            own = self.dirty.reasons(index_fact(operation.object, operation.index))
            rebuilt = operation.phase == "setup" and self.contexts[operation.object].loses_indexes
            found = (*own, *found) if rebuilt else own
        return self._spell(found, operation.object) or (("changed",),)

    def _spell(self, found: Iterable[Reason], name: ObjectName) -> Reasons:
        spelled: dict[tuple[str, ...], None] = {}
        for reason in found:
            if reason.because is None:
                text = (self.diff.objects[name].drift,) if reason.rule == "drift" else ()
                spelled[(reason.rule, *text)] = None
            elif reason.because.kind == "schema":
                if self.dirty.begins(reason.because, "forced"):
                    spelled[("forced",)] = None
                spelled["schema", reason.because.name[0]] = None
            elif reason.because.kind == "compute":
                spelled["compute", reason.because.name[0]] = None
            else:
                spelled["dependency", str(reason.because.object)] = None
        if not spelled and self.diff.objects[name].due:
            spelled["left",] = None
        return tuple(spelled)

    def _teardown(self) -> list[Operation]:
        """Drops, dependents first."""
        drafts = {name: found for name, context in self.contexts.items() if (found := teardown(context))}
        if not drafts:
            return []
        nodes, edges = deployed_graph(self.diff.state)
        groups = strong_components(edges)
        level = levels(edges, groups)
        last: dict[int, tuple[str, ...]] = {}  # what has run when a node is gone
        done: list[Operation] = []
        for group in sorted(groups, key=lambda found: (level[found[0]], found[0])):
            members = set(group)
            before = _merge(last[target] for one in group for target in edges[one] if target not in members)
            torn: list[tuple[str, ...]] = []
            for node in (nodes[one] for one in group):
                found = [item for item in drafts.get(node.name, ()) if node.holds(item.change)]
                if found:
                    done += self._link(found, before)
                    torn.append((done[-1].id,))
            last.update(dict.fromkeys(group, _merge(torn) if torn else before))
        return done

    def _link(self, found: list[Operation], before: tuple[str, ...]) -> list[Operation]:
        """The operations of one object one after the other, and all of them after ``before``."""
        linked: list[Operation] = []
        for operation in found:
            after = _merge([before, (linked[-1].id,)]) if linked else before
            linked.append(operation.placed(after, operation.reasons or self._reasons(operation)))
        return linked

    def _setup(self, torn_down: Mapping[ObjectName, list[str]]) -> list[Operation]:
        """Everything else, dependencies first; exports at the end."""
        drafts: dict[Node, list[Operation]] = {}
        exports: dict[Node, list[Operation]] = {}
        for name, context in self.contexts.items():
            drafts |= setup(context)
            if found := export(context):
                exports[Node(*name)] = found
        if not drafts and not exports and not self.component:
            return []
        requires = self.graph.requires
        ready: dict[int, tuple[str, ...]] = {}  # what has run when this node is as it should be
        exported: dict[int, tuple[str, ...]] = {}  # the same for sinks, which only other sinks wait for
        done: list[Operation] = []
        sinks: list[Operation] = []
        cyclic = {item.id: item for item in self.component.values()}.values()
        members = {item.id: [requires.number(Node(*name)) for name in item.members] for item in cyclic}
        members_left = {key: len(places) for key, places in members.items()}
        for place in self.graph.downstream([*drafts, *exports, *(Node(*name) for name in self.component)]):
            node = requires.node(place)
            name = node.name
            component = self.component.get(name)
            inside = members[component.id] if component else ()
            needs = requires.edges[place]
            before = _merge(ready[target] for target in needs if target in ready and target not in inside)
            own = torn_down.get(name, [])
            earlier = _merge(exported[target] for target in needs if target in exported) if exported else ()
            if node in exports:
                sinks += self._link(exports[node], _merge([before, earlier, tuple(own)]))
                exported[place] = (sinks[-1].id,)
            elif earlier:
                exported[place] = earlier
            found = drafts.get(node, [])
            if not found and component is None:
                ready[place] = before
                continue
            indexes = _indexes(found)
            main = [item for item in found if item.index is None] if indexes else found
            main = self._link(main, _merge([before, tuple(own)]) if own else before)
            done += main
            ready[place] = (main[-1].id,) if main else before
            if component is not None:
                ready[place] = _merge([before, ready[place]])
                members_left[component.id] -= 1
                if not members_left[component.id]:
                    done += self._fixpoint(component, inside, ready)
                    for member in inside:
                        done += self._link(_indexes(drafts.get(requires.node(member), [])), ready[member])
            elif indexes:  # an index waits for its object, and nobody waits for an index
                done += self._link(indexes, _merge([ready[place], tuple(own)]))
        return done + sinks

    def _fixpoint(
        self, component: Component, places: Sequence[int], ready: dict[int, tuple[str, ...]]
    ) -> list[Operation]:
        """The operation that computes a component, if any of its members is dirty."""
        before = _merge(ready[place] for place in places)
        contexts = [self.contexts[name] for name in component.members if name in self.contexts]
        if not any(context.dirty and context.touched for context in contexts):
            ready.update(dict.fromkeys(places, before))
            return []
        everyone = [
            self.contexts.get(name)
            or Context(
                self.diff.objects[name],
                self.repository.settings,
                self.graph.depends_on[name],
                self.graph.requires,
                dirty=False,
                indexes=frozenset(),
                component=True,
            )
            for name in component.members
        ]
        reasons = tuple(
            dict.fromkeys(
                reason
                for name in component.members
                for reason in self._spell(self.dirty.reasons(object_fact(name)), name)
            )
        )
        operation = replace(fixpoint(everyone, reasons), depends_on=before)
        ready.update(dict.fromkeys(places, (operation.id,)))
        return [operation]


def _dirty_indexes(name: ObjectName, indexes: tuple[Index, ...], dirty: Dirty) -> frozenset[str]:
    return frozenset([index.name for index in indexes if index_fact(name, index.name) in dirty])


def _indexes(found: list[Operation]) -> list[Operation]:
    return [operation for operation in found if operation.index is not None]


def _merge(groups: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """The operations of all groups, each once, in a fixed order."""
    found = set().union(*groups)
    return tuple(sorted(found) if len(found) > 1 else found)
