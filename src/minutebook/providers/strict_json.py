"""Whether a value can be the body of a request: strict JSON in UTF-8. Pure."""

from __future__ import annotations

import json


def problem_of(value: object) -> str | None:
    """Say why a value is no strict UTF-8 JSON: NaN, half a surrogate pair, a wrong type, depth.

    None if it is. RFC 8259: numbers are finite (section 6), text between systems is UTF-8
    (section 8.1), which has no code for half a pair.
    """
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except (ValueError, TypeError, RecursionError) as error:
        return f"{type(error).__name__}: {error}"
    return None
