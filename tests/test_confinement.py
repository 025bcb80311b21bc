"""What a file can make the process do that reads it: as little as the system can see to."""

from __future__ import annotations

import ctypes
import errno
import json
import logging
import os
import platform
import sys
from pathlib import Path

import pytest
from fakes import WordEmbedder
from pdfs import pdf
from probing import Probe

from rag_app.errors import DamagedFile, LimitReached
from rag_app.library import Library
from rag_app.reading import confinement, sandbox
from rag_app.reading.confinement import (
    PROCESSORS,
    Allowed,
    Confinement,
    RefusedCall,
    all_but_computing,
    all_but_local_sockets,
    apart_from,
    available,
    confine,
    filter_program,
)
from rag_app.reading.limits import Limits
from rag_app.reading.sandbox import Sandbox
from rag_app.settings import Settings

network = pytest.mark.skipif(
    not available().network, reason="this system has no seccomp, or calls have other numbers here"
)
files = pytest.mark.skipif(not available().files, reason="this system has no Landlock")
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has this")
KEYS = ("RAG_APP_CHAT_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "HF_TOKEN", "AWS_SESSION_TOKEN")


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or platform.machine() not in ("x86_64", "aarch64"),
    reason="only Linux has this, and its calls have other numbers elsewhere",
)
def test_what_the_kernel_says_that_it_can_shut_is_shut():
    """The tests below are left out where nothing can be shut, by what the app says of it."""
    kernel = Path("/proc/self/status").read_text()
    assert available().network == ("\nSeccomp:" in kernel)
    libc, newest = ctypes.CDLL(None, use_errno=True), 1
    version = libc.syscall(444, None, 0, newest)  # landlock_create_ruleset, on every processor
    assert available().files == (version > 0)


@pytest.fixture
def probe(tmp_path, monkeypatch):
    for name in KEYS:
        monkeypatch.setenv(name, "sk-secret")
    shut_in = Probe(tmp_path / "data", monkeypatch, "probing")
    (shut_in.folder / "library.sqlite3").write_text("what others wrote")
    yield shut_in
    shut_in.sandbox.close()


# The environment


def test_no_key_reaches_the_process(probe):
    assert "secret" not in probe("import os; said = dict(os.environ)")


@linux
def test_nor_does_it_see_that_of_the_app(probe):
    said = probe("import os; said = open(f'/proc/{os.getppid()}/environ', 'rb').read()")
    assert said == "EACCES" or not available().files


# The network


@network
@pytest.mark.parametrize("family", ["AF_INET", "AF_INET6", "AF_UNIX", "AF_NETLINK"])
def test_it_has_no_sockets(probe, family):
    assert probe(f"import socket; socket.socket(socket.{family}, socket.SOCK_RAW)") == "EPERM"
    assert probe(f"import socket; socket.socket(socket.{family})") == "EPERM"


@network
def test_nor_a_pair_of_them_nor_a_queue_of_calls_that_makes_some(probe):
    assert probe("import socket; socket.socketpair()") == "EPERM"
    entries = "from rag_app.reading.confinement import system_call; system_call(425, 8, None)"
    assert probe(entries) == "ENOSYS"


# Files


@files
def test_it_sees_no_file_beside_its_own(probe):
    for path in (probe.folder / "library.sqlite3", probe.file("")):
        assert probe(f"said = open({str(path)!r}).read()") == "EACCES"
    for folder in (probe.folder, Path.home(), Path.cwd(), Path("/proc/self"), Path("/etc")):
        assert probe(f"import os; said = os.listdir({str(folder)!r})") == "EACCES"


@files
def test_the_file_before_is_gone(probe):
    seen = "import os; said = sorted(os.listdir(path.parent)), path.name"
    assert probe(seen) == "(['1.txt'], '1.txt')"
    assert probe(seen) == "(['2.txt'], '2.txt')"


@files
@pytest.mark.parametrize(
    "program",
    [
        "open(path, 'w')",
        "open(path, 'r+')",
        "open(path.parent / 'new', 'w')",
        "path.unlink()",
        "path.rename(path.with_name('other'))",
        "path.rename('here')",
        "import os; os.link(path, 'here')",
        "import os; os.symlink('/etc', 'here')",
        "import os; os.mkfifo('here')",
        "f = open(path); open(f'/proc/self/fd/{f.fileno()}', 'w')",
        "f = open(path); from rag_app.reading import confinement as s; "
        "s._checked(s._libc().linkat(-100, b'/proc/self/fd/%d' % f.fileno(), -100, b'h', 0x400))",
        "open('../../../library.sqlite3', 'w')",
        "open('../../../new', 'w')",
        "import rag_app; open(rag_app.__file__, 'a')",
    ],
)
def test_it_changes_neither_its_file_nor_another(probe, program):
    assert probe(program) in ("EACCES", "EXDEV", "EPERM")
    assert probe.file(program).read_text() == program
    assert (probe.folder / "library.sqlite3").read_text() == "what others wrote"


@network
@pytest.mark.parametrize(
    "program",
    [
        "import os; os.open(path, os.O_RDONLY | os.O_TRUNC)",
        "import os; os.truncate(path, 0)",
        "import os; os.chmod(path, 0)",
        "import os; os.utime(path)",
        "import os; os.chown(path, -1, -1)",
        "import os; os.setxattr(path, 'user.odd', b'1')",
    ],
)
def test_what_landlock_does_not_see_to_is_refused_as_a_call(probe, program):
    assert probe(program) == "EPERM"
    assert probe.file(program).read_text() == program


def test_what_it_writes_is_gone_after_its_file(probe):
    written = (
        "import os, tempfile; handle, name = tempfile.mkstemp(); os.write(handle, b'words');"
        "os.makedirs('a/b'); open('a/b/c', 'w').write('words'); said = os.listdir('.')"
    )
    assert "'a'" in probe(written)
    left = [one for one in (probe.folder / "reading").rglob("*") if not one.is_dir()]
    assert left == []
    assert probe("import os; said = os.listdir('.')") == "[]"


# Other processes


@network
@pytest.mark.parametrize(
    "program",
    [
        "import os; os.fork()",
        "import os; os.execv('/bin/true', ['true'])",
        "import subprocess; subprocess.run(['/bin/true'])",
        "import os; os.kill(os.getppid(), 0)",
        "import os, signal; signal.pidfd_send_signal(os.pidfd_open(os.getppid()), 0)",
        "import os, resource; resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (9, 9))",
    ],
)
def test_it_starts_no_process_and_touches_none(probe, program):
    assert probe(program) == "EPERM"


def test_it_still_has_threads(probe):
    started = "import threading; t = threading.Thread(target=lambda: ran.append(1)); "
    assert probe(f"ran = []; {started}t.start(); t.join(); said = ran") == "[1]"


@linux
def test_it_leaves_no_core_and_ends_itself_as_before(probe):
    assert probe("import resource; said = resource.getrlimit(resource.RLIMIT_CORE)") == "(0, 0)"
    dumpable = "from rag_app.reading.confinement import _libc; said = _libc().prctl(3)"
    assert probe(dumpable) == "0"
    with pytest.raises(LimitReached, match="RAG_APP_READ_MEMORY_MB"):
        probe("import os; os.abort()")
    assert probe("") == "done"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root has these")
@network
def test_of_what_root_may_do_it_may_open_files_only(probe):
    held = (
        "import ctypes, struct; from rag_app.reading import confinement as calls; "
        "number = calls.this_processor().number('capset') - 1; "  # capget is the one before
        "kept = ctypes.create_string_buffer(24); "
        "calls.system_call(number, struct.pack('=Ii', 0x20080522, 0), kept); "
        "said = struct.unpack('=6I', kept.raw)"
    )
    assert probe(held) == str((2, 2, 0, 0, 0, 0))


# Where the system can do nothing of it


@pytest.fixture
def free(tmp_path, monkeypatch):
    """A process on a system that has neither."""
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "unconfined.py").write_text(
        "from probing import main\n"
        "from rag_app.reading import confinement\n"
        "nothing = confinement.Confinement(network=False, files=False)\n"
        "confinement.available = lambda: nothing\n"
    )
    monkeypatch.syspath_prepend(str(modules))
    without = Probe(tmp_path / "data", monkeypatch, "unconfined")
    yield without
    without.sandbox.close()


def test_without_them_files_are_read_all_the_same(free, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert free("import os; said = os.listdir('/') != []") == "True"
    assert free("import socket; socket.socket().close()") == "done"
    assert "secret" not in free("import os; said = dict(os.environ)")


def test_elsewhere_nothing_is_promised(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert confinement.this_processor() is None
    assert not confinement.can_give_up.__wrapped__()
    assert confinement._landlock.__wrapped__() == 0
    with pytest.raises(OSError):
        confinement.give_up(all_but_local_sockets())


@linux
def test_on_another_processor_the_calls_are_not_known(monkeypatch):
    system = os.uname()
    monkeypatch.setattr(os, "uname", lambda: type(system)([*system[:4], "riscv64"]))
    assert not confinement.can_give_up.__wrapped__()


def test_an_old_kernel_knows_nothing_of_landlock(monkeypatch):
    def unknown(*_):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(confinement, "system_call", unknown)
    assert confinement._landlock.__wrapped__() == 0


def test_what_is_not_there_is_not_asked_for(monkeypatch):
    def never(*_):
        raise AssertionError

    monkeypatch.setattr(confinement, "available", lambda: Confinement(network=False, files=False))
    for name in ("no_capabilities", "no_new_privileges", "_see_only", "give_up"):
        monkeypatch.setattr(confinement, name, never)
    confine(Allowed([], []), all_but_local_sockets())


def test_every_state_has_a_sentence_of_its_own():
    both = (False, True)
    sentences = {Confinement(network=n, files=f).in_words() for n in both for f in both}
    assert len(sentences) == 4 and all(one.endswith(".") for one in sentences)
    assert Confinement(network=True, files=True).in_words() == (
        "Files are read in a process that has no network and sees no other files."
    )


@files
def test_rather_no_reading_than_reading_with_open_doors(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(
        sandbox, "Allowed", lambda readable, writable: Allowed(readable, [*writable, "/not/there"])
    )
    box, path = Sandbox(Limits(seconds=60)), tmp_path / "a.pdf"
    path.write_bytes(pdf("Hello"))
    with pytest.raises(DamagedFile):
        box.read(path, ".pdf")
    assert "/not/there" in caplog.text
    box.close()


# In the library


def test_a_library_says_how_it_reads_and_leaves_nothing_of_what_it_read(tmp_path, caplog):
    caplog.set_level(logging.INFO, "rag_app.open_library")
    left = tmp_path / "data" / "reading" / "tmpkilled" / "in" / "1.pdf"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"of a process that was killed")
    settings = Settings.load(data_dir=tmp_path / "data")
    with Library(settings, embedder=WordEmbedder()) as library:
        assert available().in_words() in caplog.text and not left.exists()
        document = library.add("a.pdf", pdf("Hello, harbour.")).document
        library.wait([document.id])
        assert library.picture(document.id, 1) is not None
        workspaces = tmp_path / "data" / "reading"
        assert [one for one in workspaces.rglob("*") if one.is_file()] == []
        assert list(workspaces.iterdir())
    assert list(workspaces.iterdir()) == []


# What is seen


def test_folders_above_what_is_private_are_not_seen(tmp_path, monkeypatch):
    data, elsewhere = tmp_path / "data", tmp_path / "modules"
    monkeypatch.chdir(tmp_path)
    seen = apart_from(data, ["", "/", str(tmp_path), str(data), str(Path.home()), str(elsewhere)])
    assert seen == [str(elsewhere)]
    assert str(tmp_path) not in confinement.seen_by_python([str(tmp_path)], "", data)
    assert str(elsewhere) in confinement.seen_by_python([], str(elsewhere), data)


def test_a_deleted_folder_or_an_unknown_home_hides_nothing_more(tmp_path, monkeypatch):
    def unknown():
        raise RuntimeError

    def deleted():
        raise FileNotFoundError

    monkeypatch.setattr(Path, "home", unknown)
    monkeypatch.setattr(Path, "cwd", deleted)
    assert apart_from(tmp_path / "data", [str(tmp_path), "/usr"]) == ["/usr"]


# The filter, played on the machine that it is written for


def verdict(
    kind: str, refusals: list[RefusedCall], call: str | int, *arguments: int, audit=0
) -> int:
    """The error that a processor of a kind gives a call, 0 if it goes through."""
    processor = PROCESSORS[kind]
    number = processor.number(call) if isinstance(call, str) else call
    known = {0: number, 4: audit or processor.audit}
    known |= {16 + 8 * place: value for place, value in enumerate(arguments)}
    program, at, register = filter_program(processor, refusals), 0, 0
    while True:
        what, if_so, if_not, value = program[at]
        at += 1
        if what == confinement._LOAD:
            register = known.get(value, 0)
        elif what == confinement._AND:
            register &= value
        elif what == confinement._RETURN:
            return 0 if value == confinement._ALLOW else value & 0xFFFF
        else:
            equal, least = confinement._IF_EQUAL, confinement._IF_AT_LEAST
            assert what in (equal, least)
            so = register == value if what == equal else register >= value
            at += if_so if so else if_not


@pytest.mark.parametrize("kind", PROCESSORS)
def test_the_filter_refuses_the_same_on_every_processor(kind):
    reading = all_but_computing(pid=77)
    read, getpid = {"x86_64": (0, 39), "aarch64": (63, 172)}[kind]
    assert verdict(kind, reading, read) == verdict(kind, reading, getpid) == 0
    for call in ("socket", "connect", "execve", "ptrace", "fchmod", "kill"):
        assert verdict(kind, reading, call) == errno.EPERM
    assert verdict(kind, reading, "io_uring_setup") == errno.ENOSYS
    assert verdict(kind, reading, "ioctl", 0, 0x5401) == errno.ENOTTY
    assert verdict(kind, reading, "clone", 0x10000 | 0x100) == 0
    assert verdict(kind, reading, "clone", 0x100) == errno.EPERM
    assert verdict(kind, reading, "tgkill", 77) == 0
    assert verdict(kind, reading, "tgkill", 78) == errno.EPERM
    for flags, expected in ((0, 0), (0o1000, errno.EPERM), (0o1001, 0), (0o1002, 0), (0o2, 0)):
        assert verdict(kind, reading, "openat", 0, 0, flags) == expected


@pytest.mark.parametrize("kind", PROCESSORS)
def test_a_program_that_works_alone_has_local_sockets_only(kind):
    working = all_but_local_sockets()
    assert verdict(kind, working, "socket", 1) == 0
    for family in (0, 2, 10, 16, 17):
        assert verdict(kind, working, "socket", family) == errno.EAFNOSUPPORT
    assert verdict(kind, working, "execve") == verdict(kind, working, "fchmod") == 0


@pytest.mark.parametrize("kind", PROCESSORS)
def test_calls_of_another_processor_or_younger_than_the_filter_are_refused(kind):
    for refusals in (all_but_computing(1), all_but_local_sockets()):
        assert verdict(kind, refusals, 0, audit=0x40000003) == errno.EPERM
        for number in (452, 463, 0x40000000 + 41):
            assert verdict(kind, refusals, number) == errno.ENOSYS


@network
def test_the_numbers_are_those_of_the_systems_own_headers():
    header = {"x86_64": "x86_64-linux-gnu/asm/unistd_64.h", "aarch64": "asm-generic/unistd.h"}
    path = Path("/usr/include") / header[os.uname().machine]
    if not path.is_file():
        pytest.skip("the kernel's headers are not installed")
    known = dict(
        line.split()[1:3] for line in path.read_text().splitlines() if "define __NR" in line
    )
    processor = confinement.this_processor()
    assert processor
    for call in confinement._NUMBERS:
        listed = known.get(f"__NR_{call}", known.get(f"__NR3264_{call}"))
        assert listed is None or int(listed) == processor.number(call), call


def test_what_is_handed_to_the_process_is_plain_data(tmp_path, monkeypatch):
    given = []
    real = sandbox.python
    monkeypatch.setattr(
        sandbox, "python", lambda *args, **how: given.append(args) or real(*args, **how)
    )
    box, path = Sandbox(Limits(seconds=60), tmp_path / "reading"), tmp_path / "a.pdf"
    path.write_bytes(pdf("Hello"))
    box.read(path, ".pdf")
    reach = json.loads(given[0][2])
    assert [Path(one).name for one in reach["writable"]] == ["out"]
    assert str(tmp_path) not in reach["readable"] and str(path) not in reach["readable"]
    box.close()
