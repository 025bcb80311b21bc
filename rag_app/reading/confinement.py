"""Shuts a process in that works on other people's files: no network, and no files but its own.

Linux does both: seccomp takes system calls away, Landlock (5.13 and later) files. On other systems
and older kernels a process stays as free as it was; `available` says what holds here."""

from __future__ import annotations

import json
import os
import stat
import struct
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rag_app.reading.system_calls import (
    RefusedCall,
    all_but_local_sockets,
    can_give_up,
    give_up,
    no_capabilities,
    no_new_privileges,
    system_call,
)


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
