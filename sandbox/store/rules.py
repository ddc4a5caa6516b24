"""Rules of CRDs in CEL (`x-kubernetes-validations`): compiled once, evaluated on every write.

1. A rule sees the value that it stands beside as `self`; at the root, of the metadata only the
name. 2. A rule that mentions `oldSelf` is a transition rule: it is skipped where there is no old
value. 3. Any other rule is skipped where the value did not change, so that an object that was
stored before the rule existed can still be changed elsewhere.
https://kubernetes.io/docs/reference/using-api/cel/ says more. Whether rules fit their schema is
looked at in rule_typing.py; the libraries for quantities, URLs and IP addresses are missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import cel

from sandbox.store.errors import Cause
from sandbox.store.folding import emptied
from sandbox.store.rule_functions import FUNCTIONS
from sandbox.store.rule_values import typed_for_cel
from sandbox.store.schema_causes import ROOT
from sandbox.store.schemas import Node

ABSENT = object()
RULE_CHARS_MAX = 16_384
REASONS = (
    "FieldValueInvalid",
    "FieldValueForbidden",
    "FieldValueRequired",
    "FieldValueDuplicate",
)
# Properties with the name of a word that CEL reserves are written with underscores in rules.
_ESCAPED_WORD = re.compile(
    r"(?<=\.)__(as|break|const|continue|else|for|function|if|import|let|loop|namespace|package|"
    r"return|var|void|while)__"
)
_BOUND_NAME = re.compile(r"\.(?:all|exists|exists_one|filter|map)\(\s*(\w+)\s*,")
_TYPES = frozenset(
    {"bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint"}
)
_VARIABLES = frozenset({"self", "oldSelf"})


@dataclass(frozen=True)
class Rule:
    """One entry of x-kubernetes-validations."""

    text: str
    program: Any
    message: str
    message_program: Any
    reason: str
    field_path: str
    on_transition: bool
    functions: Mapping[str, Callable[..., Any]]


@dataclass(frozen=True)
class RuleTree:
    """The rules of a schema, in its shape; branches without rules are left out."""

    kind: str
    rules: tuple[Rule, ...]
    properties: Mapping[str, RuleTree]
    additional: RuleTree | None
    items: RuleTree | None
    list_keys: tuple[str, ...]


class RuleError(Exception):
    """A rule that cannot be compiled."""


def compile_rules(schema: Mapping[str, Any]) -> RuleTree | None:
    """The rules at and below `schema`; None if no rule exists. Raises RuleError."""
    node = Node(schema)
    rules = tuple(compile_rule(item) for item in schema.get("x-kubernetes-validations") or ())
    properties = {
        name: tree
        for name, below in (schema.get("properties") or {}).items()
        if (tree := compile_rules(below)) is not None
    }
    additional = schema.get("additionalProperties")
    below = compile_rules(additional) if isinstance(additional, dict) else None
    items = compile_rules(schema["items"]) if isinstance(schema.get("items"), dict) else None
    if not (rules or properties or below or items):
        return None
    keys = node.list_keys if node.list_type == "map" else ()
    return RuleTree(schema.get("type", ""), rules, properties, below, items, keys)


def compile_rule(entry: Mapping[str, Any]) -> Rule:
    """Raises RuleError for what CEL cannot parse, or for names that do not exist."""
    text = entry.get("rule") or ""
    program = _program(text)
    expression = entry.get("messageExpression")
    message_program = _program(expression) if expression else None
    reason = entry.get("reason") or REASONS[0]
    if reason not in REASONS:
        raise RuleError(f"reason {reason!r} is not one of {', '.join(REASONS)}")
    used = set(program.functions())
    if message_program is not None:
        used |= set(message_program.functions())
    return Rule(
        text=text,
        program=program,
        message=(entry.get("message") or "").strip() or f"failed rule: {text.strip()}",
        message_program=message_program,
        reason=reason,
        field_path=entry.get("fieldPath") or "",
        on_transition="oldSelf" in program.variables(),
        functions={name: FUNCTIONS[name] for name in sorted(used) if name in FUNCTIONS},
    )


def causes(
    tree: RuleTree, schema: Node, obj: Mapping[str, Any], old: Mapping[str, Any] | None
) -> list[Cause]:
    """What the rules say against `obj`, given what was stored before."""
    seen, seen_before = _seen_at_root(schema, obj), _seen_at_root(schema, old)
    return list(_walk(tree, seen, seen_before, ""))


def _program(text: str) -> Any:
    if not text.strip() or len(text) > RULE_CHARS_MAX:
        raise RuleError(f"a rule has to have 1 to {RULE_CHARS_MAX} characters")
    try:
        program = cel.compile(_ESCAPED_WORD.sub(r"\1", text))
    except ValueError as problem:
        raise RuleError(str(problem)) from problem
    bound = set(_BOUND_NAME.findall(text))  # by a macro, as x in `self.all(x, x > 0)`
    if unknown := set(program.variables()) - _VARIABLES - _TYPES - bound:
        raise RuleError(f"there is no variable {', '.join(sorted(unknown))}")
    return program


def unescaped(name: str) -> str:
    """A property as the schema calls it."""
    return _ESCAPED_WORD.sub(r"\1", f".{name}")[1:]


def _seen_at_root(schema: Node, obj: Mapping[str, Any] | None) -> Any:
    if obj is None:
        return ABSENT
    obj = typed_for_cel(schema, obj)
    meta = obj["metadata"]
    shown = {key: meta[key] for key in ("name", "generateName") if key in meta}
    return {**obj, "metadata": shown}


def _walk(tree: RuleTree, value: Any, old: Any, path: str) -> Iterator[Cause]:
    if value is None:
        return
    if tree.rules:
        yield from _evaluated(tree, value, old, path)
    if isinstance(value, dict):
        yield from _walk_object(tree, value, old, path)
    elif isinstance(value, list) and tree.items is not None:
        for index, item in enumerate(value):
            before = _old_item(tree.list_keys, item, old)
            yield from _walk(tree.items, item, before, f"{path}[{index}]")


def _walk_object(tree: RuleTree, value: dict[str, Any], old: Any, path: str) -> Iterator[Cause]:
    before = old if isinstance(old, dict) else {}
    below = tree.properties.items()
    for name, subtree in below:
        if name in value:
            where = f"{path}.{name}" if path else name
            yield from _walk(subtree, value[name], before.get(name, ABSENT), where)
    if tree.additional is not None:
        for name, item in value.items():
            if name not in tree.properties:
                where = f"{path}.{name}" if path else name
                yield from _walk(tree.additional, item, before.get(name, ABSENT), where)


def _old_item(keys: tuple[str, ...], item: Any, old: Any) -> Any:
    """Only the items of a list with keys have an identity."""
    if not keys or not isinstance(old, list) or not isinstance(item, dict):
        return ABSENT
    identity = [item.get(key) for key in keys]
    for before in old:
        if isinstance(before, dict) and [before.get(key) for key in keys] == identity:
            return before
    return ABSENT


def _evaluated(tree: RuleTree, value: Any, old: Any, path: str) -> Iterator[Cause]:
    wanted = [
        rule
        for rule in tree.rules
        if (old is not ABSENT and old is not None if rule.on_transition else value != old)
    ]
    if not wanted:
        return
    variables = {"self": value}
    if old is not ABSENT:
        variables["oldSelf"] = old
    context = _context(variables)
    for rule in wanted:
        for name, function in rule.functions.items():
            context.add_function(name, function)
        if (problem := _problem(rule, context)) is not None:
            yield _cause(rule, path, problem)


def _context(variables: dict[str, Any]) -> Any:
    """Converts the values once for all of their rules, which do not reach what is folded."""
    try:
        return cel.Context(variables)
    except ValueError:
        return cel.Context(emptied(variables))


def _problem(rule: Rule, context: Any) -> str | None:
    """None if the rule holds, else what to say."""
    try:
        if rule.program.execute(context) is True:
            return None
    except Exception as problem:  # noqa: BLE001 - whatever evaluation raises is the rule's failure
        return f"{rule.message} (the rule cannot be evaluated: {problem})"
    return _message(rule, context)


def _message(rule: Rule, context: Any) -> str:
    if rule.message_program is None:
        return rule.message
    try:
        text = rule.message_program.execute(context)
    except Exception:  # noqa: BLE001 - by specification the plain message is the fallback
        return rule.message
    return text if isinstance(text, str) and text.strip() and "\n" not in text else rule.message


def _cause(rule: Rule, path: str, problem: str) -> Cause:
    where = f"{path}{rule.field_path}" if path else rule.field_path.removeprefix(".")
    return Cause(where or ROOT, problem, rule.reason)
