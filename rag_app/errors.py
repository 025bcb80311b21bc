"""Everything that can go wrong in a way a user can mend.

Every message may be shown to a user, and says what to do next. `code` is stored with a failed
document and is what programs test; the message is for people."""

from __future__ import annotations

import re

_WORD = re.compile(r"(?<!^)(?=[A-Z])")


class RagAppError(Exception):
    """Base of all errors whose message may be shown to a user.

    The `code` of those in here is their name in small letters: `damaged_file`; "Error" is no part
    of it. A class of another module has that of what it is, if it names none."""

    code = "error"

    def __init_subclass__(cls) -> None:
        if cls.__module__ == __name__ and "code" not in cls.__dict__:
            cls.code = _WORD.sub("_", cls.__name__.removesuffix("Error")).lower()


class SettingsError(RagAppError):
    """A setting has a value that cannot be used."""


class LibraryInUse(RagAppError):
    """Another process owns the data directory."""


class LibraryDamaged(RagAppError):
    """The library's own file cannot be used."""


class LibraryClosed(RagAppError):
    """The library was closed while it was still being asked."""

    @classmethod
    def now(cls) -> LibraryClosed:
        """The error in the words that are always used for it."""
        return cls("The app was closed before this was done. Ask again when it runs.")


class DiskFull(RagAppError):
    """No room is left where the library lies; what is under way goes on when there is."""

    @classmethod
    def now(cls) -> DiskFull:
        """The error in the words that are always used for it."""
        return cls(
            "The disk is full. Make room on it: what was accepted is kept and goes on by itself, "
            "and what was refused can be added again."
        )


class DatabaseUnavailable(RagAppError):
    """The database server cannot be reached, or lets nothing be written; what is under way goes on
    when it can."""


class FilesError(RagAppError):
    """The store of files cannot be used; what is under way goes on when it can."""


class FilesMissing(FilesError):
    """There is no such bucket, or folder."""


class FilesRefused(FilesError):
    """The store of files does not let us do that, or knows no key of ours."""


class FilesUnreachable(FilesError):
    """The store of files does not answer, or not in time."""


class FilesFull(FilesError):
    """The store of files takes no more."""


class FilesDiffer(FilesError):
    """Other bytes lie there under the name that a file is to have."""


class BackupError(RagAppError):
    """A backup cannot be made, or cannot be restored."""


class MoveError(RagAppError):
    """A library cannot be moved to a database server; what was begun there is gone again."""


class ModelUnavailable(RagAppError):
    """Model weights are missing, torn or not the ones we know."""


class ModelAway(ModelUnavailable):
    """The server of a model does not answer for now: what waits for it goes on by itself."""


class ChatModelError(RagAppError):
    """A chat model cannot be reached, refuses, or breaks off."""


class DocumentError(RagAppError):
    """A file cannot be added."""


class UnsupportedFormat(DocumentError):
    """No reader for this kind of file."""


class TooOld(UnsupportedFormat):
    """Only another program can open the file."""


class EmptyFile(DocumentError):
    """The file has no bytes."""


class DamagedFile(DocumentError):
    """The file is torn, or is not what its name says."""


class PasswordNeeded(DocumentError):
    """The file is encrypted and no password was given."""


class WrongPassword(PasswordNeeded):
    """The file is encrypted and the password given does not open it."""


class NoText(DocumentError):
    """The file can be read, and there is no text in it."""


class LimitReached(DocumentError):
    """The file is over one of the limits in the settings; the message names it."""


class CollectionGone(DocumentError):
    """The collection that the file was to be in was deleted meanwhile."""


class AddressError(DocumentError):
    """What is given is no web address that can be fetched."""


class AddressNotPublic(AddressError):
    """The address lies on this computer or in a network that is nobody else's business."""


class SiteSilent(AddressError):
    """The site of an address cannot be reached, or breaks off."""


class PageRefused(AddressError):
    """The site does not give the page."""


class FetchStopped(AddressError):
    """A person did not want to wait for a page any longer."""


class UnknownDocument(RagAppError):
    """No document of that id or name."""


class UnknownConversation(RagAppError):
    """No conversation of that id."""


class NotAllowed(RagAppError):
    """Who asks may see it, but not do this."""


class AccessError(RagAppError):
    """What was wanted of people, groups or collections cannot be had."""


class UnknownCollection(AccessError):
    """There is no such collection, or none that this person may see: the two are not told apart."""


class UnknownGrantee(AccessError):
    """There is no such person or group, or they were removed."""


class NameTaken(AccessError):
    """Something else goes by this name already."""


class LastOwner(AccessError):
    """A collection would be left without an owner."""


class LastAdministrator(AccessError):
    """Nobody would be left to manage people."""


class QuotaReached(RagAppError):
    """A person has used up what they may; `retry_after` seconds later it is free, None: not by
    waiting."""

    code = "quota"

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class QueryError(RagAppError):
    """A query over tables has no result."""


class QueryRefused(QueryError):
    """A query is something else than one SELECT of the tables that were opened."""


class QueryStopped(QueryError):
    """A query takes more time or memory than it may."""


class QuestionError(RagAppError):
    """The question is empty or too long, or there is nothing to ask yet."""


def error_class(code: str) -> type[RagAppError]:
    """The class with this `code`, RagAppError itself if there is none."""
    pending: list[type[RagAppError]] = [RagAppError]
    while pending:
        cls = pending.pop()
        if cls.code == code:
            return cls
        pending.extend(cls.__subclasses__())
    return RagAppError
