"""What a written sentence says against the source that it is like."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_app.answering.attribution import contradicts, figures

SOURCE = "Revenue rose by 18 percent to 61.2 billion dollars in March."


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("Revenue rose to 61.2 million dollars.", SOURCE),
        ("Revenue fell by 18 percent to 61.2 billion dollars.", SOURCE),
        ("Revenue did not rise to 61.2 billion dollars.", SOURCE.replace("rose", "did rise")),
        ("The board approved the merger.", "The board did not approve the merger."),
        ("The board approved the merger.", "The board rejected the merger."),
        ("The tenant may keep pets.", "The tenant may not keep pets in the flat."),
        ("The tenant can't keep pets.", "The tenant may keep pets in the flat."),
        ("The lease ends after the first year.", "The lease ends before the first year."),
        ("The company failed to deliver the engines.", "The company delivered the engines."),
    ],
)
def test_the_opposite_is_told_from_what_it_is_like(claim, source):
    assert contradicts(claim, source)


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("Revenue rose 18% to 61.2 billion dollars.", SOURCE),
        ("Revenue rose to 61.2 billion dollars.", "Revenue, in millions: 61.2"),
        ("Sales rose while costs fell.", "Costs fell, and sales rose."),
        ("The flat has no lift.", "There is no lift in the flat."),
        ("The ferry is red.", "The ferry is not only red but also fast."),
        ("The board approved the merger.", "The board approved the merger, not the loan."),
        ("Pets are welcome.", "Pets are welcome, but smoking is not allowed."),
    ],
)
def test_the_same_in_other_words_is_left_alone(claim, source):
    assert not contradicts(claim, source)


def test_figures_are_numbers_in_digits_or_words_and_names_of_times():
    assert figures("On Monday, 12 March, twelve of 1,200 ferries") == {"12", "1200", "March", "Mon"}
    assert figures("May we come on 3.5 islands?") == {"May", "3.5"}
    assert figures("no one at all") == set()


@given(st.text(max_size=80))
def test_no_text_contradicts_itself(text):
    assert not contradicts(text, text)
