"""The engine's package, imported so that it tells nobody."""

from __future__ import annotations

from typing import Any

from rag_app.settings import quiet_dependencies


def engine_package() -> Any:
    """`openvino_genai`; to be imported in this way only."""
    quiet_dependencies()
    import openvino_genai

    return openvino_genai
