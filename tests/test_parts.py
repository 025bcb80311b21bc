from __future__ import annotations

import io
import stat
import struct
import threading
import zipfile
from email.message import EmailMessage
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from old_offices import compound

from rag_app.errors import NoText
from rag_app.ingestion.attachments import Parts
from rag_app.library import Library
from rag_app.reading import detect
from rag_app.reading.archive import read_zip
from rag_app.reading.limits import Limits, inner_name
from rag_app.reading.mail import read_eml, read_mbox
from rag_app.reading.ole import read_ole
from rag_app.settings import Settings
from rag_app.types import Status
from tests.fakes import WordEmbedder

pytestmark = pytest.mark.usefixtures("either_database")

Files = dict[str, bytes]
PROGRAM = b"\x7fELF" + bytes(range(256)) * 4


def packed(files: Files, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def letter(body: str, attached: Files) -> bytes:
    message = EmailMessage()
    message["Subject"], message["From"], message["To"] = "The crane", "a@b.org", "c@d.org"
    message.set_content(body)
    for name, data in attached.items():
        message.add_attachment(data, maintype="application", subtype="x", filename=name)
    return message.as_bytes()


@pytest.fixture
def limits(tmp_path):
    folder = tmp_path / "scratch"
    folder.mkdir()
    return Limits(parts_folder=str(folder))


def taken(reading, limits: Limits) -> Files:
    return {p.name: Path(limits.parts_folder, p.file).read_bytes() for p in reading.parts}


def open_library(folder: Path, **settings: object) -> Library:
    return Library(Settings.load(data_dir=folder, **settings), embedder=WordEmbedder())


@pytest.fixture
def library(tmp_path):
    with open_library(tmp_path / "data") as opened:
        yield opened


def settle(library: Library) -> list[str]:
    """The names of all documents once no work is left: parts come while it is done."""
    before = -1
    while before != len(documents := library.documents()):
        before = len(documents)
        library.wait([d.id for d in documents], timeout=60)
    return [d.name for d in library.documents()]


# In the reading process


def test_a_zip_lists_its_files_and_gives_them_one_by_one(file, limits):
    files = {"a.txt": b"first", "plans/roof.txt": b"second", "plans/empty/": b""}
    path = file(packed(files))
    assert detect(path, "notes.docx") == ".zip"  # whatever it is called
    reading = read_zip(path, limits=limits)
    assert reading.pages[0].text == (
        "Files in this archive\n\na.txt (5 bytes)\nplans/roof.txt (6 bytes)"
    )
    assert taken(reading, limits) == {"a.txt": b"first", "plans/roof.txt": b"second"}
    assert reading.warnings == ()


def test_without_room_to_unpack_to_a_zip_is_only_listed(file):
    reading = read_zip(file(packed({"a.txt": b"first"})), limits=Limits())
    assert reading.parts == () and "a.txt" in reading.pages[0].text


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("../../etc/passwd", "etc/passwd"),
        ("/etc/passwd", "etc/passwd"),
        ("C:\\Windows\\..\\a.txt", "Windows/a.txt"),
        ("..", "file"),
        ("a\x00b\n.txt", "a b .txt"),
        ("x/" * 300 + "end.txt", "…" + ("x/" * 300 + "end.txt")[-200:]),
    ],
)
def test_a_name_inside_leads_nowhere_else(name, shown):
    assert inner_name(name) == shown


@given(st.text(max_size=300))
def test_no_name_inside_leads_up_or_out(name):
    steps = inner_name(name).split("/")
    assert all(step and step != ".." for step in steps) and "\\" not in inner_name(name)


def test_names_that_lead_out_of_an_archive_write_nothing_there(file, limits):
    reading = read_zip(file(packed({"../../out.txt": b"x", "/abs.txt": b"y"})), limits=limits)
    assert sorted(taken(reading, limits)) == ["abs.txt", "out.txt"]
    assert {p.name for p in Path(limits.parts_folder).iterdir()} == {"1", "2"}


def test_names_in_utf_8_that_do_not_say_so_are_read(file, limits):
    data = packed({"pläne.txt": b"x"})
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = data.find(mark) + at
        data = data[:place] + struct.pack("<H", 0) + data[place + 2 :]
    assert [p.name for p in read_zip(file(data), limits=limits).parts] == ["pläne.txt"]


def test_what_cannot_be_unpacked_stays_inside_and_is_said(file, limits):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("good.txt", "good")
        link = zipfile.ZipInfo("link")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("empty.txt", "")
        archive.writestr("__MACOSX/._good.txt", "x")
        locked, torn = zipfile.ZipInfo("locked.txt"), zipfile.ZipInfo("torn.txt")
        archive.writestr(locked, "secret")
        archive.writestr(torn, "torn words")
    data = bytearray(out.getvalue())
    data[data.find(b"locked.txt") - 24] |= 1
    data[data.rfind(b"locked.txt") - 38] |= 1
    data[data.find(b"torn words")] ^= 0xFF
    reading = read_zip(file(bytes(data)), limits=limits)
    assert taken(reading, limits) == {"good.txt": b"good"}
    assert reading.warnings == (
        "Left inside (a link to another file): link.",
        "Left inside (empty): empty.txt.",
        "Left inside (locked with a password): locked.txt.",
        "Left inside (damaged, or packed in an unusual way): torn.txt.",
    )
    assert [p.name for p in Path(limits.parts_folder).iterdir()] == ["1"]


def test_a_bomb_stays_inside(file, limits):
    reading = read_zip(file(packed({"bomb": b"0" * 30_000_000, "a.txt": b"a"})), limits=limits)
    assert taken(reading, limits) == {"a.txt": b"a"}
    assert reading.warnings == ("Left inside (grows to more than 500 times its size): bomb.",)


def test_limits_on_number_and_size_name_the_setting(file, tmp_path):
    limits = Limits(parts_folder=str(tmp_path), parts_left=2, unpacked_left=10)
    files = {"a": b"aaaa", "b": b"b" * 11, "c": b"cccc", "d": b"d"}
    reading = read_zip(file(packed(files)), limits=limits)
    assert taken(reading, limits) == {"a": b"aaaa", "c": b"cccc"}
    assert "RAG_APP_MAX_UNPACKED_MB" in reading.warnings[0] and "b." in reading.warnings[0]
    assert "RAG_APP_MAX_PARTS" in reading.warnings[1] and "d." in reading.warnings[1]


def test_an_archive_without_files_has_no_text(file):
    with pytest.raises(NoText):
        read_zip(file(packed({"a/": b""})), limits=Limits())


def test_attachments_are_unpacked_and_a_logo_is_not(file, limits):
    logo = (
        b'--b\nContent-Type: image/png; name="logo.png"\nContent-ID: <x>\n'
        b"Content-Disposition: inline\n\nPNG\n"
    )
    inner = b"--b\nContent-Type: message/rfc822\n\nSubject: Inner\n\nhidden words\n"
    data = (
        b'Subject: S\nFrom: a@b\nTo: c@d\nContent-Type: multipart/mixed; boundary="b"\n\n'
        b"--b\nContent-Type: text/plain\n\nBody\n" + logo + inner + b"--b\n"
        b"Content-Type: text/csv\nContent-Disposition: attachment\n\n1,2\n--b--\n"
    )
    reading = read_eml(file(data), limits=limits)
    got = taken(reading, limits)
    assert list(got) == ["Inner.eml", "attachment 3.csv"]
    assert b"hidden words" in got["Inner.eml"] and b"1,2" in got["attachment 3.csv"]
    assert reading.warnings == ()
    assert "hidden words" not in reading.pages[0].text


def test_attachments_of_a_mailbox_stand_under_their_message(file, limits):
    box = b"\n".join(
        b"From a@b Mon Mar  3 10:00:00 2025\n" + letter(f"Letter {n}", {"p.txt": b"plan %d" % n})
        for n in (1, 2)
    )
    reading = read_mbox(file(box), limits=limits)
    assert taken(reading, limits) == {"message 1/p.txt": b"plan 1", "message 2/p.txt": b"plan 2"}


def wide(text: str) -> bytes:
    return text.encode("utf-16-le")


def test_attachments_of_outlook_are_unpacked_messages_as_e_mails(file, limits):
    first, second = "__attach_version1.0_#00000000", "__attach_version1.0_#00000001"
    inner = f"{second}/__substg1.0_3701000D"
    data = compound(
        {
            "__properties_version1.0": b"\0" * 32,
            "__substg1.0_0037001F": wide("Outer"),
            "__substg1.0_1000001F": wide("It lifts 40 tons."),
            f"{first}/__substg1.0_3707001F": wide("plan.txt"),
            f"{first}/__substg1.0_37010102": b"the plan",
            f"{inner}/__properties_version1.0": b"\0" * 24,
            f"{inner}/__substg1.0_0037001F": wide("Inner Größe"),
            f"{inner}/__substg1.0_1000001F": wide("Words of the inner message."),
        }
    )
    reading = read_ole(file(data), limits=limits)
    got = taken(reading, limits)
    assert got["plan.txt"].startswith(b"the plan")
    [name] = set(got) - {"plan.txt"}
    assert name == "Inner Größe.eml"
    inner_reading = read_eml(file(got[name]), limits=Limits())
    assert "Words of the inner message." in inner_reading.pages[0].text
    assert inner_reading.title.startswith("Inner Größe")


# In the library


def test_files_inside_files_become_documents_of_their_own(library):
    inner = packed({"deep.txt": b"The turnip is violet."})
    mail = letter("See the plan.", {"plan.txt": b"The crane lifts forty tons."})
    data = packed({"a/mail.eml": mail, "inner.zip": inner, "picture.exe": PROGRAM})
    added = library.add("archive.zip", data)
    names = settle(library)
    assert names[:3] == ["archive.zip", "archive.zip › a/mail.eml", "archive.zip › inner.zip"]
    assert {*names[3:]} == {  # in whatever order they were unpacked
        "archive.zip › a/mail.eml › plan.txt",
        "archive.zip › inner.zip › deep.txt",
    }
    document = library.document(added.document.id)
    assert document.warnings == ("Left inside (of a kind that cannot be read): picture.exe.",)
    passage = library.search('"forty tons"')[0]
    assert passage.name == "archive.zip › a/mail.eml › plan.txt"
    report = library.report(document.id)
    assert report.parts == ("archive.zip › a/mail.eml", "archive.zip › inner.zip")
    assert library.report(passage.chunk.document_id).inside == ("archive.zip › a/mail.eml",)
    assert not list((library.settings.data_dir / "unpacking").iterdir())


def test_removing_a_container_removes_what_came_only_from_it(library):
    shared, own = b"Shared words of two archives.", b"Words of the first alone."
    first = library.add("one.zip", packed({"s.txt": shared, "o.txt": own})).document.id
    library.add("two.zip", packed({"s.txt": shared, "kept.txt": b"Kept by hand."}))
    settle(library)
    added = library.add("by-hand.txt", b"Kept by hand.")
    assert added.duplicate and added.document.name == "two.zip › kept.txt"
    library.remove(first)
    assert settle(library) == ["two.zip", "two.zip › s.txt", "two.zip › kept.txt"]
    library.remove(library.document("two.zip").id)
    assert settle(library) == ["by-hand.txt"]  # a person handed it in, too
    assert len(list((library.settings.data_dir / "files").iterdir())) == 1


def test_a_document_is_not_called_after_an_archive_that_was_removed(library):
    shared = packed({"s.txt": b"Kept by hand."})
    library.add("a.zip", packed({"s.txt": b"Kept by hand.", "o.txt": b"Words of the first."}))
    settle(library)
    library.add("b.zip", shared)
    settle(library)
    library.add("b.zip", packed({"s.txt": b"Kept by hand.", "n.txt": b"New words."}), replace=True)
    settle(library)
    kept = library.add("s.txt", b"Kept by hand.").document
    assert kept.name == "a.zip › s.txt"
    assert library.report(kept.id).duplicates == ("b.zip › s.txt", "s.txt")
    library.remove(library.document("b.zip").id)
    assert library.report(kept.id).duplicates == ("s.txt",)
    library.remove(library.document("a.zip").id)
    assert settle(library) == ["s.txt"]


def test_a_newer_archive_takes_the_name_of_the_older_and_so_do_its_parts(library):
    library.add("a.zip", packed({"same.txt": b"the same words", "x.txt": b"old words"}))
    settle(library)
    library.add("a.zip", packed({"same.txt": b"the same words", "x.txt": b"new"}), replace=True)
    assert sorted(settle(library)) == ["a.zip", "a.zip › same.txt", "a.zip › x.txt"]
    assert library.search('"new"')[0].name == "a.zip › x.txt"


def test_archives_inside_archives_end_where_the_setting_says(tmp_path):
    data = packed({"end.txt": b"The end."})
    for n in range(3):
        data = packed({f"{n}.zip": data})
    with open_library(tmp_path / "data", max_nesting=2) as library:
        library.add("a.zip", data)
        names = settle(library)
        assert names[-1] == "a.zip › 2.zip › 1.zip" and len(names) == 3
        [warning] = library.document(names[-1]).warnings
        assert "RAG_APP_MAX_NESTING" in warning


def test_limits_count_for_all_that_comes_out_of_one_file(tmp_path):
    inner = [packed({f"{n}-{m}.txt": f"Text {n} {m}.".encode() for m in range(3)}) for n in (0, 1)]
    with open_library(tmp_path / "data", max_parts=6) as library:
        library.add("a.zip", packed({"0.zip": inner[0], "1.zip": inner[1]}))
        assert len(settle(library)) == 1 + 6
        told = [library.document(f"a.zip › {n}.zip").warnings for n in (0, 1)]
        assert ["RAG_APP_MAX_PARTS" in "".join(warnings) for warnings in told].count(True) == 1


def test_limits_count_what_came_out_of_the_same_file_meanwhile(tmp_path, monkeypatch):
    """Two that came out of one file may be unpacked at the same time."""
    inner = [packed({f"{n}-{m}.txt": b"Text %d %d." % (n, m) for m in range(3)}) for n in (0, 1)]
    both, real = threading.Barrier(2, timeout=60), Parts.take_in

    def take_in(parts, document, *given):
        if document.suffix == ".zip" and "›" in document.name:
            both.wait()  # both are unpacked by now, each as if it were alone
        return real(parts, document, *given)

    monkeypatch.setattr(Parts, "take_in", take_in)
    with open_library(tmp_path / "data", max_parts=6) as library:
        library.add("a.zip", packed({"0.zip": inner[0], "1.zip": inner[1]}))
        assert len(settle(library)) == 1 + 6


def test_an_archive_of_nothing_but_refused_files_is_still_a_document(library):
    added = library.add("a.zip", packed({"a.exe": PROGRAM}))
    assert settle(library) == ["a.zip"]
    assert library.document(added.document.id).status is Status.READY


def test_a_container_that_is_read_again_doubles_nothing(library):
    added = library.add("a.zip", packed({"x.txt": b"some words", "y.txt": b"other words"}))
    names = settle(library)
    library.retry(added.document.id)
    assert settle(library) == names
    assert library.report(added.document.id).duplicates == ()
