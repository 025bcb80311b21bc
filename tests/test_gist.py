"""Which passages and sentences stand for a document."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_app.answering.summarisation import _spread
from rag_app.library import Library
from rag_app.retrieval.embedding import MiniLmEmbedder
from rag_app.settings import Settings
from rag_app.types import Finished


@pytest.fixture
def library(tmp_path):
    settings = Settings.load(data_dir=tmp_path / "data", generator="quotes")
    with Library(settings, embedder=MiniLmEmbedder(1)) as opened:
        yield opened


def summary(library: Library, name: str, text: str) -> str:
    added = library.add(name, text.encode())
    library.wait([added.document.id], timeout=30)
    events = library.ask("Summarise this document", documents=[added.document.id])
    return next(e.answer.text for e in events if isinstance(e, Finished))


def test_the_abstract_goes_before_what_surrounds_it(library):
    halls = ("red hall burns oil", "green hall burns gas", "long hall needs wax")
    body = "\n\n".join(f"The lamp of the {hall} from dusk until the morning." for hall in halls)
    text = (
        "# Lamps\n\n## Abstract\n\nEvery lamp of a hall burns from dusk until people sleep."
        f"\n\n## Halls\n\n{body}\n\n## References\n\nSmith wrote of the lamp of the red hall."
        "\n\nJones wrote of the lamp of the green hall.\n\nBrown drew the lamp of the long hall."
        "\n\nWhite drew a soup of red fish and of green salt in a long book."
    )
    said = summary(library, "lamps.md", text)
    assert said.startswith("Every lamp of a hall") and "White" not in said


def test_page_furniture_is_never_quoted(library):
    furniture = "Indicate by check mark whether the company has filed all reports of the company."
    body = "The company builds boats for people who live on the island all year."
    said = summary(library, "report.txt", f"{furniture}\n\n{body}\n\n{furniture} {body}")
    assert "builds boats" in said and "check mark" not in said


def test_a_note_without_whole_sentences_is_still_told(library):
    said = summary(library, "note.md", "# Swimming\n\n- warm lake water\n- bring two towels")
    assert "towels" in said


def test_what_was_said_stays_in_the_order_of_the_document(library):
    text = "\n\n".join(
        f"The {thing} of the town is old and stands near the harbour wall."
        for thing in ("church", "museum", "theatre", "school", "station", "market", "library")
    )
    said = summary(library, "town.txt", text)
    places = [text.index(sentence.split(" [")[0].strip()[:30]) for sentence in said.split("\n\n")]
    assert places == sorted(places) and len(places) >= 3


@given(st.lists(st.tuples(st.integers(0, 60), st.floats(0.1, 2.0)), min_size=1), st.integers(1, 9))
def test_each_is_taken_once_and_as_many_as_there_are(drawn, k):
    places, weights = [place for place, _ in drawn], np.array([weight for _, weight in drawn])
    ranked = list(np.argsort(-weights))
    best = _spread(ranked, places, weights, k)
    assert len(best) == len(set(best)) == min(k, len(drawn))


def test_a_long_text_is_heard_beyond_its_beginning():
    places, weights = [*range(10), 60, 70], np.array([1.0] * 10 + [0.8, 0.1])
    assert _spread(range(12), places, weights, 6) == [0, 1, 2, 3, 10, 4]
