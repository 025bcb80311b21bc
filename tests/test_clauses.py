"""Clauses by their numbers, and what refers to them."""

from __future__ import annotations

import pytest

from rag_app.text.structure import clauses, referred_to


@pytest.mark.parametrize(
    ("lines", "heading", "numbers"),
    [
        (["3.1 Open at nine.", "3.2 Vans enter at six.", "Be set up by eight."], "", {"3.2"}),
        (["Be set up by eight."], "Licence > 3. Hours", {"3"}),
        (["3.2 Vans enter at six."], "Licence > Section 3 Hours", {"3.2", "3"}),
        (["§ 3 Die Miete"], "Article 5. Term", {"3", "5"}),
        ([], "5 easy steps > 12 March meeting", set()),
        (["(4) No dogs."], "", {"4"}),
        (["12 pounds an hour.", "21.03.26 | Sat | 495"], "2024 | 2025", set()),
        ([], "", set()),
    ],
)
def test_a_clause_has_the_number_above_it_and_that_of_its_heading(lines, heading, numbers):
    assert clauses(lines, heading) == numbers


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("In place of the time named in clause 3.2.", {"3.2"}),
        ("Clause 4: fourteen dogs; Section 11 falls away.", {"4", "11"}),
        ("Gilt abweichend von § 7 und Ziffer 2.1.", {"7", "2.1"}),
        ("Clauses 3.1 and 3.2, sections 4, 5 to 7", {"3.1", "3.2", "4", "5", "7"}),
        ("Art. 5, Abschnitt 3, Punkt 3.2 und clause no. 9", {"5", "3", "3.2", "9"}),
        ("In paragraph 2(a) Wednesday is Thursday.", {"2"}),
        ("A1 | 4.5 | For 'May' read 'June'.\nA2 | 6.1 | Four hours, not 3.5.", {"4.5", "6.1"}),
        ("Apples | 2.5 | 3.4 | fresh\nOutput | 2.8 | kW\n3.4 | Vans enter at six.", set()),
        ("The clauses say 14 days, or 3.50 euros; article 2024 is none.", set()),
    ],
)
def test_what_is_referred_to_is_told_by_its_number(text, numbers):
    assert referred_to(text) == numbers
