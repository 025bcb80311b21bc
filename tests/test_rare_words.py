"""How rare a word is, is a matter of what somebody sees: scores tell nothing of others' texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_app.library import Library
from rag_app.scope import HOME, OWN, Role, Scope
from rag_app.settings import Settings
from rag_app.storage import words
from rag_app.types import RetrieverKind
from tests.databases import make_collections
from tests.fakes import WordEmbedder

ANNA = Scope.of("anna", {"anna": Role.OWNER})
BEN = Scope.of("ben", {"ben": Role.OWNER})
PROBES = (b"zebrafax and nothing else that matters", b"quarkbell and nothing else that matters")


def add(view: Library, name: str, data: bytes) -> None:
    view.wait([view.add(name, data).document.id], timeout=60)


def told(folder: Path, said: bytes) -> list[object]:
    """What Ben is told who looks for two words of his, where Anna has written something."""
    settings = Settings.load(data_dir=folder, caution=0.0, generator="quotes")
    with Library(settings, embedder=WordEmbedder()) as library:
        make_collections(library._store.database, "anna", "ben")
        anna, ben = library.scoped(ANNA), library.scoped(BEN)
        for n in range(8):
            add(anna, f"{n}.txt", b"%s in letter %d of nine words of hers" % (said, n))
        for n, probe in enumerate(PROBES):
            add(ben, f"{n}.txt", probe)
        found = [(p.name, p.score) for kind in RetrieverKind
                 for p in ben.search("zebrafax quarkbell", retriever=kind)]  # fmt: skip
        named = ben.document("0.txt").id
        found += [(p.name, p.score) for p in ben.search("zebrafax nothing", documents=[named])]
        both = ben.search('"nothing else" "zebrafax"', retriever=RetrieverKind.BM25)
        names = {d.id: d.name for d in ben.documents()}
        hits = [names[document] for document, _ in ben.plain.find("nothing matters").groups]
        return [found, [(p.name, p.score) for p in both], hits]


def test_scores_do_not_tell_which_words_others_have(tmp_path, databases, monkeypatch):
    """Only how long texts are on the average of the whole library: the same in both."""
    texts = (b"zebrafax", b"quarkbell", b"anything")
    answers = []
    for said in texts:
        if databases.kind == "postgres":
            monkeypatch.setenv("RAG_APP_DATABASE_URL", databases.address(said.decode()))
        answers.append(told(tmp_path / said.decode(), said))
    first, *others = answers
    assert first[0] and first[1]
    assert others == [first, first]


def test_it_is_the_order_of_the_whole_where_all_is_ones_own(tmp_path, monkeypatch, either_database):
    settings = Settings.load(data_dir=tmp_path / "data")
    with Library(settings, embedder=WordEmbedder()) as library:
        for n in range(6):
            add(library, f"{n}.txt", b"ferry " * (n + 1) + b"pier " * (6 - n) + b"x%d" % n)
        add(library, "rare.txt", b"a lighthouse and a ferry")
        ranked = library._store.search_words
        whole = ranked(["ferry", "lighthouse"], [], 9, OWN)
        monkeypatch.setattr("rag_app.storage.database.Reach.widest", lambda self, scope: scope)
        apart = ranked(["ferry", "lighthouse"], [], 9, OWN)
        assert apart[0] == (whole[0][0], pytest.approx(apart[0][1])) and len(apart) == 7
        assert [i for i, _ in apart] == [i for i, _ in whole]
        reader = Scope.of("x", {HOME: Role.READER})
        every = ranked(["ferry"], ["lighthouse", "ferry"], 9, reader)
        assert [i for i, _ in every] == [whole[0][0]]
        monkeypatch.setattr(words, "_SMALL", 3)  # a part too large to be weighed by itself
        assert ranked(["ferry", "lighthouse"], [], 9, OWN)[0][0] == whole[0][0]
