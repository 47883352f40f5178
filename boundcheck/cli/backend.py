"""``boundcheck backend``: which array library is used, and why."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from boundcheck.cli import options
from boundcheck.cli.output import emit, json_text

#: The option of every command that computes with arrays.
BackendName = Annotated[
    str | None,
    typer.Option(
        "--backend",
        help="auto, numpy or cupy; without it the variable BOUNDCHECK_BACKEND, else auto.",
        show_default=False,
    ),
]


def backend(
    name: BackendName = None, as_json: options.Json = False, output: options.Output = None
) -> None:
    """Which array library is used and why, with versions, devices and memory."""
    from boundcheck.backend import namespace_named

    xp, reason = namespace_named(name)
    found = _description(name, xp, reason)
    emit(json_text(found) if as_json else _text(found), output)


def _description(name: str | None, xp: Any, reason: str) -> dict[str, Any]:
    import os

    from boundcheck.backend import VARIABLE, devices, is_cupy, library_name, versions
    from boundcheck.formatting import json_int

    variable = os.environ.get(VARIABLE) or None
    total, free = _host_memory()
    found: dict[str, Any] = {
        "backend": library_name(xp),
        "requested": name or variable or "auto",
        "source": "--backend" if name is not None else VARIABLE if variable else "default",
        "reason": reason,
        "versions": versions(xp),
        "host": {"cores": os.cpu_count(), "memory": total, "memory_free": free},
        "devices": [],
        "tf32": None,
    }
    if is_cupy(xp):
        found["tf32"] = os.environ.get("CUPY_TF32", "0") not in ("", "0")
        found["devices"] = [
            {
                "index": device.index,
                "name": device.name,
                "compute_capability": device.compute_capability,
                "memory": json_int(device.memory),
                "memory_free": json_int(device.memory_free),
            }
            for device in devices()
        ]
    return found


def _host_memory() -> tuple[int | None, int | None]:
    """Memory of this machine and what is free of it, in bytes, where the system tells."""
    import os

    def pages(name: str) -> int | None:
        try:
            return os.sysconf(name) * os.sysconf("SC_PAGE_SIZE")
        except (AttributeError, OSError, ValueError):
            return None

    return pages("SC_PHYS_PAGES"), pages("SC_AVPHYS_PAGES")


def _text(found: dict[str, Any]) -> str:
    versions, host = found["versions"], found["host"]
    lines = [
        ("backend", f"{found['backend']} ({found['reason']})"),
        ("asked for", f"{found['requested']} ({found['source']})"),
        ("versions", ", ".join(f"{name} {v}" for name, v in versions.items() if v is not None)),
        ("host", f"{host['cores']} cores, {_gibibytes(host['memory'], host['memory_free'])}"),
    ]
    for device in found["devices"]:
        memory = _gibibytes(int(device["memory"]), int(device["memory_free"]))
        lines.append(
            (
                f"device {device['index']}",
                f"{device['name']}, compute capability {device['compute_capability']}, {memory}",
            )
        )
    if not found["devices"]:
        lines.append(("devices", "none in use"))
    if found["tf32"]:
        lines.append(("TF32", "on (CUPY_TF32): float32 products keep 10 bits after the point"))
    width = max(len(label) for label, _ in lines)
    return "".join(f"{label:<{width}}  {text}\n" for label, text in lines)


def _gibibytes(total: int | None, free: int | None) -> str:
    if total is None:
        return "memory unknown"
    text = f"{total / 2**30:.1f} GiB memory"
    return text if free is None else f"{text}, {free / 2**30:.1f} free"
