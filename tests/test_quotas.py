"""How much a person may."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_app.access.access import Access
from rag_app.access.nouns import MACHINE, Identity
from rag_app.access.quotas import NO_QUOTA, LeakyBucket, Limited, Quota, Quotas, Usage
from rag_app.errors import AccessError, NotAllowed, QuotaReached, UnknownGrantee
from rag_app.library import Library
from rag_app.settings import Settings
from rag_app.types import Document, Status
from tests.fakes import WordEmbedder
from tests.offices import packed
from tests.pdfs import pdf
from tests.test_audit import Now


@pytest.fixture
def now() -> Now:
    return Now()


@pytest.fixture
def access(database, now) -> Access:
    made = Access(database, Settings.load(), now)
    for one in ("anna", "ben", "cara"):
        made.arrive(Identity(one))
    return made


@pytest.fixture
def quotas(database, access, now) -> Quotas:
    made = Quotas(database, access.log, clock=now, elapsed=now)
    made._shared = None  # the clock of a server cannot be moved: tests/test_workers.py has that
    return made


def refused(check: object, *of: object) -> QuotaReached:
    with pytest.raises(QuotaReached) as caught:
        check(*of)  # type: ignore[operator]
    return caught.value


def test_where_no_limit_is_set_nothing_is_looked_at(quotas, database, monkeypatch):
    quotas.used = lambda subject: pytest.fail("it looked")
    quotas.check_question("ben")
    before = database.commits
    monkeypatch.setattr(quotas, "_read", lambda: pytest.fail("it read"))
    for _ in range(1_000):
        quotas.check_upload("ben", 1 << 40)
        quotas.check_question("ben")
        quotas.check_session("ben", "s")
    assert quotas.quota_of("ben") is NO_QUOTA and database.commits == before


def test_a_person_s_own_limit_stands_in_place_of_everybody_s(quotas):
    quotas.set_limit("anna", Limited.FILES, 5)
    quotas.set_limit("anna", Limited.PAGES, 100)
    quotas.set_limit("anna", Limited.FILES, 9, "ben")
    quotas.set_limit("anna", Limited.PAGES, None, "ben")
    assert quotas.quota_of("ben") == Quota(files=9)
    assert quotas.quota_of("cara") == quotas.for_everybody() == Quota(files=5, pages=100)
    assert quotas.own_limits("ben") == {Limited.FILES: 9, Limited.PAGES: None}
    quotas.unset_limit("anna", Limited.FILES, "ben")
    quotas.unset_limit("anna", Limited.PAGES)
    assert quotas.quota_of("ben") == Quota(files=5) and quotas.quota_of("cara") == Quota(files=5)


def test_only_an_administrator_sets_limits(quotas):
    for wanted in (
        lambda: quotas.set_limit("ben", Limited.FILES, None),
        lambda: quotas.unset_limit("ben", Limited.FILES),
    ):
        with pytest.raises(NotAllowed):
            wanted()
    with pytest.raises(AccessError, match="0 or more"):
        quotas.set_limit("anna", Limited.FILES, -1)
    with pytest.raises(UnknownGrantee):
        quotas.set_limit("anna", Limited.FILES, 1, "stranger")


def test_a_limit_that_another_process_set_counts_soon(quotas, database, access, now):
    quotas.check_question("ben")
    Quotas(database, access.log).set_limit("anna", Limited.QUESTIONS, 0)
    now.seconds += 5
    assert refused(quotas.check_question, "ben").retry_after is None


def test_bytes_are_counted_with_the_file_that_comes(quotas):
    quotas.set_limit("anna", Limited.BYTES, 1_000)
    quotas.used = lambda subject: Usage(bytes=900 if subject == "ben" else 0)
    quotas.check_upload("ben", 100)
    quotas.check_upload("cara", 1_000)
    error = refused(quotas.check_upload, "ben", 101)
    assert str(error) == (
        "You may keep 1 KB, 900 bytes are taken, and this file has 101 bytes. Remove documents "
        "that you added, then add it again."
    )
    assert error.retry_after is None


def test_pages_are_counted_as_they_are_kept(quotas):
    quotas.set_limit("anna", Limited.PAGES, 2_000)
    quotas.used = lambda subject: Usage(pages=1_999)
    quotas.check_upload("ben", 1)
    quotas.used = lambda subject: Usage(pages=2_100)
    assert "You may keep 2,000 pages, and 2,100" in str(refused(quotas.check_upload, "ben", 1))


@pytest.fixture
def library(tmp_path, either_database):
    del either_database
    with Library(Settings.load(data_dir=tmp_path), embedder=WordEmbedder()) as opened:
        opened.access.arrive(Identity("anna"))
        yield opened


def added(library: Library, name: str, data: bytes) -> Document:
    anna = library.scoped(library.access.scope_of("anna"))
    made = anna.add(name, data).document
    return anna.wait([made.id], timeout=60)[0]


def tried_again(library: Library, document: Document) -> Document:
    anna = library.scoped(library.access.scope_of("anna"))
    anna.retry(document.id)
    return anna.wait([document.id], timeout=60)[0]


def test_a_document_of_more_pages_than_are_left_fails_and_can_be_tried_again(library):
    quotas, long = library.access.quotas, pdf(*(f"This is page {n} of it." for n in range(30)))
    quotas.set_limit(MACHINE, Limited.PAGES, 2)
    document = added(library, "long.pdf", long)
    assert (document.status, document.error_code) == (Status.FAILED, "quota")
    assert document.error == (
        "You may keep 2 pages, 0 are taken, and this document has 30 pages more. Remove documents "
        "that you added, then try this one again."
    )
    assert library.access.quotas.used("anna").pages == 0
    quotas.set_limit(MACHINE, Limited.PAGES, 30)
    for _ in range(2):  # what was read of it before does not count twice
        document = tried_again(library, document)
        assert (document.status, document.pages, document.error) == (Status.READY, 30, None)
    beside = library.add("long.pdf", long).document  # of the machine itself
    quotas.set_limit(MACHINE, Limited.PAGES, 2)
    assert library.wait([beside.id], timeout=60)[0].status is Status.READY


def test_what_comes_out_of_an_archive_counts_before_any_of_it_is_taken_in(library):
    texts = {f"{n}.txt": f"{n} " * 5_000 for n in range(3)}
    box, quotas = packed(texts), library.access.quotas
    size = sum(map(len, texts.values()))
    quotas.set_limit(MACHINE, Limited.BYTES, size)
    document = added(library, "box.zip", box)
    assert (document.status, document.error_code) == (Status.FAILED, "quota")
    assert "what is packed in this file takes 30 KB more." in str(document.error)
    anna = library.scoped(library.access.scope_of("anna"))
    assert [one.id for one in anna.documents()] == [document.id]
    quotas.set_limit(MACHINE, Limited.BYTES, size + len(box))
    for _ in range(2):
        assert tried_again(library, document).status is Status.READY
        assert quotas.used("anna").bytes == size + len(box)
    parts = anna.wait(anna.parts(document.id), timeout=60)
    assert [part.status for part in parts] == [Status.READY] * 3


def test_limits_of_everybody_are_for_those_who_signed_in(quotas):
    quotas.set_limit("anna", Limited.PAGES, 2)
    quotas.check_reading("", Usage(pages=30))
    quotas.check_reading("a window where nobody signs in", Usage(pages=30))
    quotas.check_reading("ben", Usage(pages=2))
    refused(quotas.check_reading, "ben", Usage(pages=3))


def test_files_are_counted_by_the_day(quotas, now):
    quotas.set_limit("anna", Limited.FILES, 2)
    now.seconds -= now.seconds % 86_400 - 20 * 3_600  # eight in the evening, in UTC
    quotas.check_upload("ben", 1)
    quotas.check_upload("ben", 1)
    error = refused(quotas.check_upload, "ben", 1)
    assert str(error) == "You may add 2 files a day. You can add more in 4 hours."
    assert error.retry_after == 4 * 3_600
    quotas.check_upload("cara", 1)
    now.seconds += 4 * 3_600
    quotas.check_upload("ben", 1)


def test_a_file_that_is_refused_for_its_size_does_not_count(quotas):
    quotas.set_limit("anna", Limited.FILES, 1)
    quotas.set_limit("anna", Limited.BYTES, 10)
    refused(quotas.check_upload, "ben", 11)
    quotas.check_upload("ben", 10)


def test_of_files_that_come_at_once_no_more_are_taken_than_may_be(quotas):
    quotas.set_limit("anna", Limited.FILES, 5)

    def add(_: int) -> bool:
        try:
            quotas.check_upload("ben", 1)
        except QuotaReached:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(add, range(30))) == 5


def test_files_are_remembered_over_a_restart(quotas, database, access, now):
    quotas.set_limit("anna", Limited.FILES, 1)
    quotas.check_upload("ben", 1)
    refused(Quotas(database, access.log, clock=now, elapsed=now).check_upload, "ben", 1)


def test_questions_are_free_again_one_by_one(quotas, now):
    quotas.set_limit("anna", Limited.QUESTIONS, 10)
    for _ in range(10):
        quotas.check_question("ben")
    quotas.check_question("cara")
    error = refused(quotas.check_question, "ben")
    assert str(error) == "You may ask 10 questions a minute. You can ask again in 6 seconds."
    assert error.retry_after == pytest.approx(6)
    now.seconds += 6
    quotas.check_question("ben")
    refused(quotas.check_question, "ben")


@pytest.mark.parametrize(
    ("what", "said"),
    [
        (Limited.FILES, "You may add no files here"),
        (Limited.QUESTIONS, "You may ask no questions here"),
        (Limited.SESSIONS, "You may use no window here"),
    ],
)
def test_where_nothing_may_be_had_there_is_nothing_to_wait_for(quotas, what, said):
    quotas.set_limit("anna", what, 0, "ben")

    def use(subject: str) -> None:
        quotas.check_upload(subject, 1)
        quotas.check_question(subject)
        quotas.check_session(subject, "s")

    error = refused(use, "ben")
    assert said in str(error) and "administrator" in str(error) and error.retry_after is None
    use("cara")


def test_sessions_count_while_they_are_used(quotas, now):
    quotas.set_limit("anna", Limited.SESSIONS, 2)
    quotas.check_session("ben", "one")
    now.seconds += 600
    quotas.check_session("ben", "two")
    quotas.check_session("ben", "one")
    error = refused(quotas.check_session, "ben", "three")
    assert "2 windows at once" in str(error) and "15 minutes" in str(error)
    assert error.retry_after == 900
    quotas.check_session("cara", "three")
    quotas.end_session("ben", "one")
    quotas.check_session("ben", "three")
    now.seconds += 900
    quotas.check_session("ben", "four")
    quotas.check_session("ben", "five")


@given(
    most=st.integers(1, 60),
    pauses=st.lists(st.floats(0, 90), max_size=120),
)
def test_no_minute_has_more_than_two_fills_and_what_is_waited_for_is_there(most, pauses):
    now = Now()
    bucket = LeakyBucket(now)
    taken: list[float] = []
    for pause in pauses:
        now.seconds += pause
        wait = bucket.pour("ben", most)
        if wait:
            now.seconds += wait + 1e-6
            assert bucket.pour("ben", most) == 0
        taken.append(now.seconds)
        within = [one for one in taken if now.seconds - one < 60]
        assert len(within) <= 2 * most


def test_buckets_of_people_who_left_are_forgotten():
    now = Now()
    bucket = LeakyBucket(now)
    for number in range(1_500):
        bucket.pour(f"p{number}", 5)
    now.seconds += 61
    bucket.pour("ben", 5)
    assert list(bucket._levels) == ["ben"]
