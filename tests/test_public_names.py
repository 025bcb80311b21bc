from __future__ import annotations

import subprocess
import sys

import pytest

import rag_app
from rag_app import errors


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


CODES = """
    access address address_not_public backup chat_model collection_gone damaged_file
    database_unavailable
    disk_full document empty_file fetch_stopped files files_differ files_full files_missing
    files_refused files_unreachable last_administrator last_owner library_closed
    library_damaged library_in_use limit_reached model_away model_unavailable move
    name_taken no_text not_allowed page_refused password_needed query query_refused
    query_stopped question quota settings site_silent too_old unknown_collection
    unknown_conversation unknown_document unknown_grantee unsupported_format wrong_password
"""


def test_the_codes_of_errors_stay_whatever_classes_are_called():
    """Failed documents are stored with them, and programs test them."""
    codes = {one.code for one in vars(errors).values() if isinstance(one, type)}
    assert codes - {"error"} == set(CODES.split())
