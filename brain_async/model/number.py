"""Numbers as text, in the one form that index texts and sort keys share."""

from __future__ import annotations

from decimal import Decimal

__all__ = ["format_number"]


def format_number(value: int | float) -> str:
    """Shortest text that reads back as ``value``: exponent form when the decimal exponent is below -4 or at least 6.

    Follows Go's ``strconv.FormatFloat(v, 'g', -1, 64)`` with its precision rule, as the Go package ``brain`` prints floats:
    120000.0 is ``120000`` and 1000000.0 is ``1e+06``. Integers are printed plainly.
    """
    if isinstance(value, int):
        return str(value)
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    if not isinstance(exponent, int):
        return str(value)
    leading = len(digits) - 1 + exponent
    text = "".join(map(str, digits))
    if text == "0":
        return "-0" if sign else "0"
    if leading < -4 or leading >= 6:
        fraction = f".{text[1:]}" if len(text) > 1 else ""
        body = f"{text[0]}{fraction}e{'-' if leading < 0 else '+'}{abs(leading):02d}"
    elif leading < 0:
        body = f"0.{'0' * (-leading - 1)}{text}"
    elif len(text) <= leading + 1:
        body = text + "0" * (leading + 1 - len(text))
    else:
        body = f"{text[: leading + 1]}.{text[leading + 1 :]}"
    return f"-{body}" if sign else body
