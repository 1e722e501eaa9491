"""Options from the library's table: setting, listing, docstrings and signatures."""
from __future__ import annotations

import ctypes as c
import inspect
import numbers
import textwrap
from functools import lru_cache
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Sequence, Tuple, TypeVar

from ._library import core, names

_KINDS = {1: "int", 2: "int", 3: "float", 4: "bool", 5: "str"}
F = TypeVar("F", bound=Callable[..., Any])


class Option(NamedTuple):
    """One row of the table."""

    name: str  #: as the library calls it: `eps-rel`
    python: str  #: as Python calls it: `eps_rel`
    kind: str  #: int, float, bool or str
    default: Any  #: None: not given
    choices: Tuple[str, ...]  #: of an int: a word for its lowest value
    help: str


def _value(kind: str, text: str) -> Any:
    if text == "":
        return None
    if kind == "bool":
        return text in ("1", "true")
    return {"int": int, "float": float, "str": str}[kind](text)


@lru_cache(maxsize=None)
def options(task: str) -> Tuple[Option, ...]:
    """The options of a task: "fit", "jd", "apply", "frames", "learn", "separate", "score", "gcm".

    Examples
    --------
    >>> [o.kind for o in options("fit") if o.name == "eps-rel"]
    ['float']
    """
    rows: List[Option] = []
    key = task.encode()
    buffer = c.create_string_buffer(64)
    for name in names(core.tlnmf_option_name, key):
        of = (key, name.encode())
        kind = _KINDS[core.tlnmf_option_kind_of(*of)]
        text = core.tlnmf_option_default(*of, buffer, len(buffer)) or b""
        choices = (core.tlnmf_option_choices(*of) or b"").decode()
        help_ = core.tlnmf_option_help(*of).decode()
        default = None if "(required)" in help_ else _value(kind, text.decode())
        words = tuple(choices.split("|")) if choices else ()
        rows.append(Option(name, name.replace("-", "_"), kind, default, words, help_))
    if not rows:
        raise ValueError(f"unknown task {task!r}; use one of {', '.join(names(core.tlnmf_task_name))}")
    return tuple(rows)


@lru_cache(maxsize=None)
def required(task: str) -> Tuple[Option, ...]:
    """The options of a task that have no default.

    Examples
    --------
    >>> [o.name for o in required("fit")]
    ['k']
    """
    return tuple(o for o in options(task) if "(required)" in o.help)


def text_of(value: Any, option: Option) -> str:
    """A value as the text that the library reads back to the same bits."""
    if isinstance(value, str):
        if "\0" in value:
            raise ValueError(f"{option.python} contains a NUL character")
        return value
    if isinstance(value, numbers.Integral) or type(value).__name__ == "bool_":
        return str(int(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))
    if option.kind == "str":
        raise TypeError(f"{option.python} must be one of {', '.join(option.choices)}")
    kind = " or ".join((option.kind, *map(repr, option.choices)))
    raise TypeError(f"{option.python} must be of type {kind}, not {type(value).__name__}")


def suggestion(name: str, known: Sequence[str]) -> str:
    """`; did you mean 'tol'?` if the library finds a name that is near, else nothing.

    Examples
    --------
    >>> suggestion("n_components", ["k", "seed"]), suggestion("colour", ["k", "seed"])
    ("; did you mean 'k'?", '')
    """
    words = (c.c_char_p * len(known))(*[word.encode() for word in known])
    near = core.tlnmf_nearest(name.encode(), words, len(known))
    return f"; did you mean {near.decode()!r}?" if near else ""


def option_of(task: str, name: str, function: str) -> Option:
    """The option `eps_rel` or `eps-rel`; TypeError, as for any keyword, if it is unknown."""
    for option in options(task):
        if name in (option.python, option.name):
            return option
    hint = suggestion(name, [option.python for option in options(task)])
    raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{hint}")


def describe(
    task: str, skip: Sequence[str] = (), rename: Mapping[str, str] = {}, indent: str = ""
) -> str:
    """The options of a task as the lines of a docstring."""
    lines: List[str] = []
    for o in options(task):
        if o.name in skip:
            continue
        kind = "{" + ", ".join(map(repr, o.choices)) + "}" if o.choices else o.kind
        if o.choices and o.kind == "int":
            kind = f"int or {o.choices[0]!r}"
        lines.append(f"{indent}{rename.get(o.name, o.python)} : {kind}, default {o.default!r}")
        lines += textwrap.wrap(o.help, 84, initial_indent=indent + "    ",
                               subsequent_indent=indent + "    ")  # fmt: skip
    return "\n".join(lines)


def parameters(
    task: str, skip: Sequence[str] = (), rename: Mapping[str, str] = {}
) -> Dict[str, inspect.Parameter]:
    """The options of a task as keyword parameters with their defaults."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    found = {}
    for o in options(task):
        if o.name not in skip:
            name = rename.get(o.name, o.python)
            found[name] = inspect.Parameter(name, keyword, default=o.default)
    return found


def documented(*tasks: str, skip: Sequence[str] = ()) -> Callable[[F], F]:
    """Puts the options of tasks in place of {options} and of **options in the signature."""

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        kept = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        taken = {p.name for p in kept}
        text = []
        for task in tasks:
            hidden = tuple(skip) + tuple(o.name for o in options(task) if o.python in taken)
            text.append(describe(task, hidden, indent="    "))
            for name, parameter in parameters(task, hidden).items():
                kept.append(parameter)
                taken.add(name)
        function.__doc__ = (function.__doc__ or "").replace("    {options}", "\n".join(text))
        function.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return function

    return decorate
