"""``${name}`` in the text of a file: replaced before anything else looks at it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .diagnostics import Diagnostic, did_you_mean
from .lexer import LexError, lex, line_of
from .names import display, quote_part

# The words that the SQL standard reserves, and Spark too where it is told to.
_RESERVED = frozenset([
    "all", "and", "any", "as", "authorization", "both", "case", "cast", "check", "collate", "column",
    "constraint", "create", "cross", "current_date", "current_time", "current_timestamp",
    "current_user", "distinct", "else", "end", "escape", "except", "false", "fetch", "filter", "for",
    "foreign", "from", "full", "grant", "group", "having", "in", "inner", "intersect", "into", "is",
    "join", "lateral", "leading", "left", "natural", "not", "null", "on", "only", "or", "order",
    "outer", "overlaps", "primary", "references", "right", "select", "session_user", "some", "table",
    "then", "to", "trailing", "union", "unique", "unknown", "user", "using", "when", "where", "with",
    "within",
])  # fmt: skip
_DOLLAR = ord("$")
_TOKEN = re.compile(r"\$\{([^{}\n]*)\}")


def built_in_tokens(schemas: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """One token per schema folder: its physical name, as it can stand in SQL."""
    return {folder: _in_sql(physical) for folder, physical in schemas.items()}


def _in_sql(parts: tuple[str, ...]) -> str:
    quoted = [quote_part(part) if part.casefold() in _RESERVED else display((part,)) for part in parts]
    return ".".join(quoted)


def uses_tokens(content: bytes) -> bool:
    """Whether a file has any: asked of every file, so looking for the one character comes first."""
    return _DOLLAR in content and b"${" in content


def substitute(text: str, values: Mapping[str, str], path: str, problems: list[Diagnostic]) -> str:
    """The text with every token replaced; an undefined one outside comments is a problem."""
    if "${" not in text:
        return text
    folded = {name.casefold(): value for name, value in values.items()}
    undefined: list[re.Match[str]] = []

    def value_of(match: re.Match[str]) -> str:
        value = folded.get(match[1].strip().casefold())
        if value is None:
            undefined.append(match)
            return match[0]
        return value

    replaced = _TOKEN.sub(value_of, text)
    if undefined:
        problems += [
            Diagnostic(
                path,
                line_of(text, match.start()),
                "SD130",
                f"undefined token {match[0]}",
                did_you_mean(match[1], values)
                or "Define it under tokens: in sparkdeploy.yaml, or pass --set.",
            )
            for match in undefined
            if _counts(text, match.start())
        ]
    return replaced


def _counts(text: str, position: int) -> bool:
    """Whether a position is outside comments. A header line counts although it may be one."""
    line_start = text.rfind("\n", 0, position) + 1
    if "////" in text[line_start:position]:
        return True
    try:
        found = lex(text)
    except LexError:
        return True
    spans = zip(found.starts, found.texts, strict=True)
    return any(start <= position < start + len(word) for start, word in spans)
