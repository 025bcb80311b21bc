"""Shuts a process in that works on other people's files: no network, and no files but its own.

A seccomp filter is a small program that the kernel runs before every call. Calls go by numbers,
which differ from one processor to the next; where they are not known here, and on other systems,
nothing can be given up.

Linux does both: seccomp takes system calls away, Landlock (5.13 and later) files. On other systems
and older kernels a process stays as free as it was; `available` says what holds here."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import stat
import struct
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

# What Python has no function for.

_SET_DUMPABLE, _SET_NO_NEW_PRIVS = 4, 38  # of prctl


@cache
def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def system_call(number: int, *arguments: Any) -> int:
    """Call the kernel. Raises OSError."""
    passed = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    return _checked(_libc().syscall(ctypes.c_long(number), *passed))


def no_new_privileges() -> None:
    """Neither this process nor a program it starts gets rights that it has not now."""
    _prctl(_SET_NO_NEW_PRIVS, 1)


def no_core_dumps() -> None:
    """What it has in memory is neither written down when it crashes nor shown to other processes.

    A limit of size would not do: a system that hands dumps to a program does not ask for it."""
    _prctl(_SET_DUMPABLE, 0)


def _prctl(option: int, value: int) -> None:
    _checked(_libc().prctl(option, *map(ctypes.c_ulong, (value, 0, 0, 0))))


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


# The calls, by their numbers on x86_64 and aarch64; None: that processor has no such call.

_NUMBERS: dict[str, tuple[int | None, int | None]] = {
    "add_key": (248, 217),
    "bind": (49, 200),
    "bpf": (321, 280),
    "capset": (126, 91),
    "chmod": (90, None),
    "chown": (92, None),
    "clone": (56, 220),
    "clone3": (435, 435),
    "connect": (42, 203),
    "execve": (59, 221),
    "execveat": (322, 281),
    "fanotify_mark": (301, 263),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchown": (93, 55),
    "fchownat": (260, 54),
    "fork": (57, None),
    "fremovexattr": (199, 16),
    "fsetxattr": (190, 7),
    "futimesat": (261, None),
    "inotify_add_watch": (254, 27),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioctl": (16, 29),
    "keyctl": (250, 219),
    "kill": (62, 129),
    "lchown": (94, None),
    "lremovexattr": (198, 15),
    "lsetxattr": (189, 6),
    "mount": (165, 40),
    "open": (2, None),
    "open_by_handle_at": (304, 265),
    "openat": (257, 56),
    "openat2": (437, 437),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424),
    "prlimit64": (302, 261),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "removexattr": (197, 14),
    "request_key": (249, 218),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "seccomp": (317, 277),
    "setns": (308, 268),
    "setxattr": (188, 5),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "tgkill": (234, 131),
    "tkill": (200, 130),
    "truncate": (76, 45),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
    "utime": (132, None),
    "utimensat": (280, 88),
    "utimes": (235, None),
    "vfork": (58, None),
}
_FROM_HERE_ON_UNKNOWN = 452  # younger than this list, and on x86_64 calls of another kind (x32)


@dataclass(frozen=True, slots=True)
class Processor:
    """A kind of processor: what the kernel calls it, and its column in the table of numbers."""

    audit: int
    column: int

    def number(self, call: str) -> int | None:
        """The number of a call, None if there is none."""
        return _NUMBERS[call][self.column]


PROCESSORS = {"x86_64": Processor(0xC000003E, 0), "aarch64": Processor(0xC00000B7, 1)}


def this_processor() -> Processor | None:
    """The processor that this process runs on, None if calls have other numbers here."""
    if not sys.platform.startswith("linux") or struct.calcsize("P") != 8:
        return None
    return PROCESSORS.get(os.uname().machine)


# What is given up.

_OF_THIS_PROCESS = struct.pack("=Ii", 0x20080522, 0)  # the way they are counted, and whose
_DAC_OVERRIDE = 1 << 1


def no_capabilities() -> None:
    """Give up what root may do besides, as to look into other processes; needs no privilege.

    What is left is to read and write files of any owner: a library may be somebody else's."""
    processor = this_processor()
    if processor is None or os.geteuid() != 0:
        return
    left = struct.pack("=6I", _DAC_OVERRIDE, _DAC_OVERRIDE, 0, 0, 0, 0)
    system_call(processor.number("capset") or 0, _OF_THIS_PROCESS, left)


@dataclass(frozen=True, slots=True)
class Argument:
    """What is looked at in a call: its argument at `position`, as far as `mask` shows it."""

    position: int
    mask: int
    value: int
    refused_if_equal: bool


@dataclass(frozen=True, slots=True)
class RefusedCall:
    """A call that is refused, always or by one of its arguments, and the error that it gives."""

    call: str
    error: int = errno.EPERM
    argument: Argument | None = None


_WHOLE = 0xFFFFFFFF
_AF_UNIX = 1
_CLONE_THREAD = 0x10000


def _always(*calls: str, error: int = errno.EPERM) -> tuple[RefusedCall, ...]:
    return tuple(RefusedCall(call, error) for call in calls)


def _unless(call: str, position: int, value: int, error: int = errno.EPERM) -> RefusedCall:
    """Refused unless an argument has this value."""
    return RefusedCall(call, error, Argument(position, _WHOLE, value, refused_if_equal=False))


# It works through a queue of its own, past every filter.
_IO_URING = _always("io_uring_setup", "io_uring_enter", "io_uring_register", error=errno.ENOSYS)
# What no program needs that only computes: the memory of others, keys, the kernel's own machinery.
_MACHINERY = _always(
    *("ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "open_by_handle_at"),
    *("add_key", "keyctl", "request_key", "bpf", "perf_event_open", "userfaultfd"),
    *("mount", "umount2", "unshare", "setns"),
)


def all_but_local_sockets() -> tuple[RefusedCall, ...]:
    """For a program that works alone: no socket that leads out of this computer."""
    other = errno.EAFNOSUPPORT  # what a system answers that has no such network
    return (_unless("socket", 0, _AF_UNIX, other), *_IO_URING, *_MACHINERY)


def all_but_computing(pid: int) -> tuple[RefusedCall, ...]:
    """For the process `pid`, which reads files: no sockets, programs or processes of its own, no
    signals to others, and nothing that changes files otherwise than by writing to an open one."""
    truncating = Argument(1, os.O_TRUNC | os.O_ACCMODE, os.O_TRUNC, refused_if_equal=True)
    threads_only = Argument(0, _CLONE_THREAD, 0, refused_if_equal=True)
    return (
        *_always("socket", "socketpair", "connect", "bind"),
        *_IO_URING,
        *_MACHINERY,
        *_always("execve", "execveat", "fork", "vfork"),
        RefusedCall("clone", argument=threads_only),
        *_always("clone3", error=errno.ENOSYS),  # threads are then made by clone
        *_always("kill", "tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal"),
        _unless("tgkill", 0, pid),  # how it aborts itself
        _unless("prlimit64", 0, 0),
        # Landlock does not look at these. To open for reading and to empty is one call.
        *_always("chmod", "fchmod", "fchmodat", "chown", "fchown", "lchown", "fchownat"),
        *_always("setxattr", "lsetxattr", "fsetxattr"),
        *_always("removexattr", "lremovexattr", "fremovexattr"),
        *_always("utime", "utimes", "futimesat", "utimensat", "truncate"),
        *_always("inotify_add_watch", "fanotify_mark"),
        RefusedCall("open", argument=truncating),
        RefusedCall("openat", argument=Argument(2, truncating.mask, truncating.value, True)),
        *_always("openat2", error=errno.ENOSYS),
        *_always("ioctl", error=errno.ENOTTY),  # whatever it is asked of is no such device
    )


# The filter: instructions of the kernel's own small machine (BPF) with one register.

_LOAD, _AND, _IF_EQUAL, _IF_AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_NUMBER_AT, _PROCESSOR_AT, _ARGUMENTS_AT = 0, 4, 16  # bytes into what is known of a call
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_INSTRUCTION = struct.Struct("=HBBI")  # what to do, steps forward if so and if not, with what

Instruction = tuple[int, int, int, int]


def filter_program(processor: Processor, refusals: Sequence[RefusedCall]) -> list[Instruction]:
    """The instructions that refuse these calls and allow every other."""
    return [
        (_LOAD, 0, 0, _PROCESSOR_AT),
        (_IF_EQUAL, 1, 0, processor.audit),
        _refuse(errno.EPERM),  # numbers of another processor that this one can play
        (_LOAD, 0, 0, _NUMBER_AT),
        (_IF_AT_LEAST, 0, 1, _FROM_HERE_ON_UNKNOWN),
        _refuse(errno.ENOSYS),
        *(step for refusal in refusals for step in _steps(processor, refusal)),
        (_RETURN, 0, 0, _ALLOW),
    ]


def _steps(processor: Processor, refusal: RefusedCall) -> Iterator[Instruction]:
    number, looked_at = processor.number(refusal.call), refusal.argument
    if number is None:
        return
    if looked_at is None:
        yield (_IF_EQUAL, 0, 1, number)
        yield _refuse(refusal.error)
        return
    yield (_IF_EQUAL, 0, 5, number)
    # the lower half, which is the first one on both processors: none of these arguments is longer
    yield (_LOAD, 0, 0, _ARGUMENTS_AT + 8 * looked_at.position)
    yield (_AND, 0, 0, looked_at.mask)
    yield (_IF_EQUAL, *((0, 1) if looked_at.refused_if_equal else (1, 0)), looked_at.value)
    yield _refuse(refusal.error)
    yield (_RETURN, 0, 0, _ALLOW)


def _refuse(error: int) -> Instruction:
    return (_RETURN, 0, 0, _ERROR | error)


class _Program(ctypes.Structure):
    """`struct sock_fprog`."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


# Without the second flag, older kernels would slow the process down against attacks that others of
# its processes' own threads could make (4.17 and later know it).
_SET_MODE_FILTER, _SPEC_ALLOW = 1, 4


@cache
def can_give_up() -> bool:
    """Whether calls can be given up here; asks the kernel, which changes nothing."""
    processor = this_processor()
    try:
        if processor:
            _install(processor, None)
    except OSError as error:
        return error.errno == errno.EFAULT  # all was well but the filter, which was none
    return False


def give_up(refusals: Sequence[RefusedCall]) -> None:
    """From now on the kernel refuses these calls to this thread and to all that it starts.

    Needs `no_new_privileges` before. Raises OSError where that cannot be."""
    processor = this_processor()
    if processor is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    steps = filter_program(processor, refusals)
    packed = ctypes.create_string_buffer(b"".join(_INSTRUCTION.pack(*step) for step in steps))
    program = _Program(len(steps), ctypes.addressof(packed))
    _install(processor, ctypes.byref(program))


def _install(processor: Processor, program: Any) -> None:
    number = processor.number("seccomp")
    assert number is not None
    system_call(number, _SET_MODE_FILTER, _SPEC_ALLOW, program)


@dataclass(frozen=True, slots=True)
class Confinement:
    """What is shut to a process that reads other people's files."""

    network: bool
    files: bool  # all but those it was given

    def in_words(self) -> str:
        """One sentence about it."""
        if self.network and self.files:
            return "Files are read in a process that has no network and sees no other files."
        if self.network:
            return (
                "Files are read in a process that has no network, but sees the files that you see: "
                "to shut these as well takes Linux 5.13 or later, with Landlock switched on."
            )
        if self.files:
            return (
                "Files are read in a process that sees no other files, but has the network: "
                "this system does not let it be shut."
            )
        return (
            "Files are read in a process of its own that has the network and sees the files that "
            "you see: this system does not let them be shut."
        )


@cache
def available() -> Confinement:
    """What this system can shut."""
    return Confinement(network=can_give_up(), files=_landlock() > 0)


@dataclass(frozen=True, slots=True)
class Allowed:
    """The files and folders, with all in them, that a process may still open."""

    readable: Sequence[str]  # those that are not there are left out
    writable: Sequence[str]
    programs: bool = False  # whether what can be read can be run, too
    sockets: Sequence[str] = ()  # folders in which it may listen, and remove what it finds


def confine(reach: Allowed, refusals: Sequence[RefusedCall]) -> None:
    """Shut this thread in, and all that it starts, as far as the system can. There is no way back.

    Raises OSError where the system can and something is wrong with what is asked of it."""
    can = available()
    if can.network or can.files:
        no_capabilities()
        no_new_privileges()
    if can.files:
        _see_only(reach)
    if can.network:
        give_up(refusals)


def main(reach: str, program: str, *arguments: str) -> None:
    """Become another program, shut in: `conversion.py` runs this in a process of its own."""
    confine(Allowed(**json.loads(reach)), all_but_local_sockets())
    os.execv(program, [program, *arguments])


# What a program made of Python needs to see of a system.

_SYSTEM = (
    *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/nix/store", "/gnu/store"),
    *("/etc/ld.so.cache", "/etc/localtime", "/usr/share/zoneinfo", "/etc/mime.types"),
    *("/usr/share/fonts", "/usr/local/share/fonts", "/usr/share/X11/fonts"),  # where PDFium looks
    *("/etc/ssl/openssl.cnf", "/etc/pki/tls/openssl.cnf", "/etc/crypto-policies"),
    # what there is to compute with
    *("/sys/devices/system", "/sys/fs/cgroup", "/proc/cpuinfo", "/proc/meminfo"),
    *("/dev/zero", "/dev/random", "/dev/urandom"),
)
_NOWHERE = "/dev/null"  # may always be written to


def seen_by_python(search: Iterable[str], libraries: str, private: Path) -> list[str]:
    """What a child of this interpreter has to read, with the modules on its search path.

    `libraries` is a LD_LIBRARY_PATH. What lies above the `private` folder is left out, see
    `apart_from`; of the folder that a checkout is in there is only this package."""
    package, modules = str(Path(__file__).parents[1]), [*search, *libraries.split(os.pathsep)]
    return [*_SYSTEM, f"{sys.base_prefix}/lib", package, *apart_from(private, modules)]


def apart_from(private: Path, folders: Iterable[str]) -> list[str]:
    """Those of these folders in which neither a `private` one lies, nor the user's home, nor the
    folder one happens to be in."""
    hidden = [private.resolve()]
    with suppress(OSError):  # it has been deleted
        hidden.append(Path.cwd())
    with suppress(RuntimeError):  # the system knows of none
        hidden.append(Path.home().resolve())
    return [
        folder
        for folder in filter(None, folders)
        if not any(each.is_relative_to(Path(folder).resolve()) for each in hidden)
    ]


# Landlock: of what is named here, a process may do to files only what a rule allows.

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # on every processor
_ASK_VERSION = 1
_BENEATH_PATH = 1
_RUN, _WRITE, _READ, _LIST, _REMOVE_FOLDER, _REMOVE, _MAKE_FOLDER, _MAKE = (
    1 << bit for bit in (0, 1, 2, 3, 4, 5, 7, 8)
)
_MAKE_SOCKET = 1 << 9
_EMPTY = 1 << 14  # to cut a file off
_RIGHTS = (0, 13, 14, 15, 15, 16)  # how many there are, by version; no more are named here
_OF_A_FILE = _RUN | _WRITE | _READ | _EMPTY
_READING = _READ | _LIST
_WRITING = _READING | _WRITE | _EMPTY | _REMOVE_FOLDER | _REMOVE | _MAKE_FOLDER | _MAKE
_LISTENING = _MAKE_SOCKET | _REMOVE
_TCP = 0b11  # to listen and to connect; from version 4
_OTHER_PROCESSES = 0b11  # their abstract sockets, and signals to them; from version 6


# What the kernel is handed: what is forbidden but for the rules (files, TCP, other processes), of
# which older versions know less, and what a rule allows at an open file or folder.
_RULESET, _RULE = struct.Struct("=QQQ"), struct.Struct("=Qi")


@cache
def _landlock() -> int:
    """The version of Landlock that the kernel has, 0 if it has none or it is switched off."""
    if not sys.platform.startswith("linux"):
        return 0
    try:
        return system_call(_CREATE_RULESET, None, 0, _ASK_VERSION)
    except OSError:
        return 0


def _see_only(reach: Allowed) -> None:
    version = _landlock()
    known = (1 << _RIGHTS[min(version, len(_RIGHTS) - 1)]) - 1
    ruleset = _RULESET.pack(
        known,
        _TCP if version >= 4 else 0,
        _OTHER_PROCESSES if version >= 6 else 0,
    )
    size = 8 if version < 4 else 16 if version < 6 else 24
    rules = system_call(_CREATE_RULESET, ruleset, size, 0)
    try:
        reading = _READING | (_RUN if reach.programs else 0)
        for rights, paths in ((reading, reach.readable), (_LISTENING, reach.sockets)):
            for path in paths:
                with suppress(FileNotFoundError, PermissionError, NotADirectoryError):
                    _allow(rules, path, known & rights)
        for path in (*reach.writable, _NOWHERE):
            _allow(rules, path, known & _WRITING)
        system_call(_RESTRICT_SELF, rules, 0)
    finally:
        os.close(rules)


def _allow(rules: int, path: str, rights: int) -> None:
    """Raises OSError."""
    opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISDIR(os.fstat(opened).st_mode):
            rights &= _OF_A_FILE
        system_call(_ADD_RULE, rules, _BENEATH_PATH, _RULE.pack(rights, opened), 0)
    finally:
        os.close(opened)
