"""Sums that a writer leaves to code: "The nights cost <<3 * 85>> £." Pure.

A language model knows which figures belong together and cannot be trusted to add them. It writes
the sum, with figures that stand in what it was shown; code works it out and shows how."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from decimal import Decimal, DecimalException

from rag_app.answering.attribution import numbers

SUM = re.compile(r"<<([^<>]*)>>")
_UNFINISHED = re.compile(r"<(?:<[^<>]*>?)?\Z")
_DIGITS = re.compile(r"\d+(?:\.\d+)?")
_POINTED = re.compile(r"\d+(?:\.\d+)+")
_SIGNS: Mapping[type[ast.operator], Callable[[Decimal, Decimal], Decimal]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_DIVISORS = re.compile(r"/[\s(]*(\d+(?:\.\d+)?)")
_SHOWN_AS = {"**": "^", "*": "×", "/": "÷", "-": "−"}
_MOST = 200  # characters of a sum
_COUNTED = 12  # a writer may count so many things
_CONSTANTS = frozenset({"24", "30", "31", "52", "60", "100", "365", "366", "1000"})


@dataclass(frozen=True, slots=True)
class Computed:
    """A text with its sums worked out.

    `steps`: how, as "3 × 85 = 255"; `figures`: values that may now be said; `operands`: those known
    that sums were made of; `wrong`: sums that cannot be worked out, whose figures stand nowhere, or
    none of whose figures is known: such a sum is made up, however small its numbers."""

    text: str
    steps: tuple[str, ...] = ()
    figures: frozenset[str] = frozenset()
    wrong: tuple[str, ...] = ()
    operands: frozenset[str] = frozenset()


def computed(
    text: str,
    known: Set[str],
    comma: bool = False,
    shares: Set[str] = frozenset(),
    thousands: Set[str] = frozenset(),
) -> Computed:
    """The text with every whole sum in it worked out; one that is not whole yet is cut off, and a
    figure alone is none.

    `known`: the figures that may be used; `comma`: decimals come after a comma; `shares`: figures
    that stand as percentages only. A product with one of those is that share, unless the sum
    itself has divided by a hundred, or goes from a share to the whole: "60 * 100 / 15".
    `thousands`: figures that a writer copies as they stand, whose points are no decimal ones."""
    steps: list[str] = []
    values: set[str] = set()
    wrong: list[str] = []
    operands: set[str] = set()

    def whole(found: re.Match[str]) -> str:
        return found[0].replace(".", "") if found[0] in thousands else found[0]

    def worked_out(found: re.Match[str]) -> str:
        plain = _POINTED.sub(whole, found[1])
        if _DIGITS.fullmatch(plain.strip()):
            return _written(Decimal(plain.strip()), comma)
        written = _with_shares(plain, shares)
        value = _value(written, known)
        used = {_plain(Decimal(one)) for one in _DIGITS.findall(written)} & known
        if value is None or not used:
            wrong.append(found[1].strip())
            return ""
        said = _said(value, comma)
        steps.append(f"{as_shown(written)} = {said}")
        values.update(option for one in numbers(said) for option in one)
        operands.update(used)
        return said

    done = SUM.sub(worked_out, _UNFINISHED.sub("", text))
    return Computed(done, tuple(steps), frozenset(values), tuple(wrong), frozenset(operands))


def is_cut_off(text: str) -> bool:
    """Whether a text ends within a sum, which then comes to nothing."""
    return _UNFINISHED.search(text) is not None


def _with_shares(written: str, shares: Set[str]) -> str:
    """A product with percentages as one of shares: "50 * 5472" to "50 / 100 * 5472"."""
    if not shares or "*" not in written:
        return written
    divisors = {_plain(Decimal(one)) for one in _DIVISORS.findall(written)}
    if "100" in divisors or ("100" in _DIGITS.findall(written) and shares & divisors):
        return written

    def share(found: re.Match[str]) -> str:
        return f"{found[0]} / 100" if _plain(Decimal(found[0])) in shares else found[0]

    return _DIGITS.sub(share, written)


def _plain(value: Decimal) -> str:
    return format(value.normalize(), "f")


def _value(written: str, known: Set[str]) -> Decimal | None:
    """What a sum comes to; None if it is none, or uses a figure that is not known."""
    if len(written) > _MOST:
        return None
    try:
        return _worked_out(ast.parse(written.strip(), mode="eval").body, known)
    except (SyntaxError, ValueError, DecimalException, RecursionError):
        return None


def _worked_out(node: ast.expr, known: Set[str]) -> Decimal:
    match node:
        case ast.BinOp(left, sign, right) if type(sign) in _SIGNS:
            return _SIGNS[type(sign)](_worked_out(left, known), _worked_out(right, known))
        case ast.UnaryOp(ast.USub(), operand):
            return -_worked_out(operand, known)
        case ast.Constant(int() | float() as number) if not isinstance(number, bool):
            value = Decimal(str(number))
            if not may_be_used(value, known):
                raise ValueError(f"{number} stands nowhere")
            return value
    raise ValueError("not a sum")


def may_be_used(value: Decimal, known: Set[str]) -> bool:
    """Whether a sum may have a figure: it is known, or counts few things, or is one of the year."""
    plain = _plain(value)
    counted = value == value.to_integral_value() and 0 <= value <= _COUNTED
    return counted or plain in _CONSTANTS or plain in known


def rounded(value: Decimal, places: int = 2) -> Decimal:
    """A value to some places, or to three digits below 0.1, of which these would leave little."""
    return round(value, places) if abs(value) >= Decimal("0.1") else Decimal(f"{value:.3g}")


def _said(value: Decimal, comma: bool) -> str:
    """What a sum comes to, as far as anybody wants to know it."""
    if value != value.to_integral_value():
        value = round(value, 0) if abs(value) >= 100_000 else rounded(value)
    return _written(value, comma)


def _written(value: Decimal, comma: bool) -> str:
    """A figure with all its places, without noughts behind the mark of a whole one."""
    places = ".0" if value == value.to_integral_value() else ""
    grouped = format(value, f"{',' if abs(value) >= 10_000 else ''}{places}f")
    return grouped.translate(str.maketrans(",.", ".,")) if comma else grouped


def as_shown(written: str) -> str:
    """A sum with the signs that people write."""
    spaced = re.sub(r"\s*(\*\*|[-+*/])\s*", r" \1 ", written.strip())
    return " ".join(_SHOWN_AS.get(part, part) for part in spaced.split())
