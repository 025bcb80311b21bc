"""Gives up system calls for good: the kernel refuses them to this process from then on (Linux).

A seccomp filter: a small program that the kernel runs before every call. Calls go by numbers, which
differ from one processor to the next; where they are not known here, and on other systems, nothing
can be given up. Knows nothing of what the process is for."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
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
