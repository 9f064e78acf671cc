"""The text of ``sparkdeploy.yaml`` to plain values, with the line of every key."""

from __future__ import annotations

from typing import Any, Final

from .diagnostics import Diagnostic, SparkDeployError

FILE: Final = "sparkdeploy.yaml"
AS_MAPPING: Final = "Write one name: value per line below it."
Lines = dict[tuple[str, ...], int]

_TEXT_TAG: Final = "tag:yaml.org,2002:str"
_DEEPEST: Final = 5  # environments.<name>.propagation.schemas.<folder>.<rule>
_FOLDED: Final = (("tokens",), ("schemas",), ("environments",))


def read_yaml(text: str) -> tuple[dict[str, Any], Lines, list[Diagnostic]]:
    """The document, the line of every key, and keys that are there twice.

    Names and the values of tokens and schemas are the text that was written: that YAML reads
    ``1.10`` as a number and ``NO`` as false must not reach the SQL.
    """
    import yaml  # costs 20 ms: only where there is a file

    lines: Lines = {}
    problems: list[Diagnostic] = []

    def visit(node: Any, path: tuple[str, ...]) -> None:
        if isinstance(node, yaml.ScalarNode) and _is_text(path):
            node.tag = _TEXT_TAG
        if not isinstance(node, yaml.MappingNode) or len(path) > _DEEPEST:
            return
        seen: dict[str, int] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            if key.tag != "tag:yaml.org,2002:merge":
                key.tag = _TEXT_TAG
            line = key.start_mark.line + 1
            name = key.value.casefold() if path[-1:] in _FOLDED else key.value
            if name in seen:
                message = f"{key.value} is there twice, first in line {seen[name]}"
                problems.append(Diagnostic(FILE, line, "SD101", message, "Keep one."))
            seen.setdefault(name, line)
            lines[(*path, key.value)] = line
            visit(value, (*path, key.value))

    loader = None
    try:
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
        visit(root, ())
        document = loader.construct_document(root) if root else None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _not_yaml(mark.line + 1 if mark else 1, str(error.problem)) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise _not_yaml(line, f"the character #x{int(error.character):02x} is not allowed") from None
    except (ValueError, RecursionError) as error:  # a date that is none; a thousand brackets
        raise _not_yaml(1, str(error)) from None
    finally:
        if loader:
            loader.dispose()
    if document is None:
        return {}, {}, problems
    if not isinstance(document, dict):
        raise SparkDeployError([Diagnostic(FILE, 1, "SD101", "must be a mapping of settings", AS_MAPPING)])
    return document, lines, problems


def _is_text(path: tuple[str, ...]) -> bool:
    """Whether a value is text whatever it looks like."""
    own = path[2:] if path[:1] == ("environments",) else path
    return path == ("default_environment",) or (len(own) == 2 and own[0] in ("tokens", "schemas"))


def _not_yaml(line: int, reason: str) -> SparkDeployError:
    message = f"not YAML: {reason}"
    return SparkDeployError([Diagnostic(FILE, line, "SD101", message, "Check the indentation and quotes.")])
