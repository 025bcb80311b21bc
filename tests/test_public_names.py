from __future__ import annotations

import subprocess
import sys

import pytest

import rag_app


def test_every_public_name_is_there():
    for name in rag_app.__all__:
        assert getattr(rag_app, name).__name__ == name
    assert rag_app.__all__ == sorted(rag_app.__all__)


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nonsense"):
        _ = rag_app.nonsense


def test_importing_the_package_imports_nothing_heavy():
    code = "import sys, rag_app; print(sorted(m for m in sys.modules if m.startswith('rag_app')))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "['rag_app']"
