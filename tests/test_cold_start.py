"""What a command, an empty library and its first small file load: no more."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHEET = "product,units\n" + "\n".join(f"Widget {n},{n}" for n in range(200))

# In a process of its own, as the tests have imported everything by now.
FIRST_ADD = textwrap.dedent("""
    import sys
    from pathlib import Path
    from rag_app.library import Library
    from rag_app.settings import Settings

    def loaded():
        return [n for n in ("torch", "transformers", "sentence_transformers") if n in sys.modules]

    with Library(Settings.load(data_dir=Path(sys.argv[1]), writer="default")) as library:
        print("opened", *loaded())
        added = library.add("sheet.csv", sys.argv[2].encode())
        print(library.wait([added.document.id], timeout=100)[0].status.value, *loaded())
""")

WARMED = textwrap.dedent("""
    import sys, time
    from pathlib import Path
    from rag_app.library import Library
    from rag_app.settings import Settings

    with Library(Settings.load(data_dir=Path(sys.argv[1]), writer="off")) as library:
        library.warm()
        while library.warm_state in ("cold", "warming"):
            time.sleep(0.05)
        print(library.warm_state, *(n for n in ("torch", "transformers") if n in sys.modules))
""")

COMMAND = textwrap.dedent("""
    import sys
    import rag_app.cli

    print(*(n for n in ("numpy", "langchain_core", "tokenizers", "openvino") if n in sys.modules))
""")


def test_the_command_line_loads_nothing_that_computes_before_it_knows_what_is_asked():
    assert _said(COMMAND) == [""]


@pytest.mark.timeout(200)
def test_opening_loads_no_model_and_the_first_sheet_only_what_embeds_it(tmp_path):
    assert _said(FIRST_ADD, str(tmp_path / "data"), SHEET) == ["opened", "ready"]


@pytest.mark.timeout(200)
def test_what_answers_without_a_writer_is_loaded_without_torch(tmp_path):
    assert _said(WARMED, str(tmp_path / "data")) == ["ready"]


def _said(program: str, *arguments: str) -> list[str]:
    command = [sys.executable, "-c", program, *arguments]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return ran.stdout.splitlines()
