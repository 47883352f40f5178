"""Where a command's result goes: standard output, or a file that is whole or absent."""

from __future__ import annotations

import json
import sys
from typing import Any


def emit(text: str, output: str | None) -> None:
    """Print text, or write it to the file and say so on standard error."""
    if output is None:
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        try:
            text.encode(encoding)
        except UnicodeEncodeError:
            # A terminal without the multiplication sign gets a letter for it.
            text = text.replace("\N{MULTIPLICATION SIGN}", "x")
            text = text.encode(encoding, "backslashreplace").decode(encoding)
        sys.stdout.write(text)
        return
    from boundcheck.files import atomic_write

    atomic_write(output, text)
    print(f"wrote {output}", file=sys.stderr)


def json_text(data: dict[str, Any]) -> str:
    """JSON as every command prints it."""
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
