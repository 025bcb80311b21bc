"""Everything that can go wrong in a way a user can mend.

    RagAppError              every message may be shown to a user and says what to do next
    ├── SettingsError        a setting has a value that cannot be used
    ├── LibraryInUse         another process owns the data directory
    ├── LibraryDamaged       the library's own file cannot be used
    ├── LibraryClosed        the library was closed while it was still being asked
    ├── DiskFull             no room is left where the library lies
    ├── DatabaseUnavailable  the database server cannot be reached, or lets nothing be written
    ├── FilesError           the store of files cannot be used; what waits goes on when it can
    │   ├── FilesMissing     there is no such bucket, or folder
    │   ├── FilesRefused     it does not let us do that, or knows no key of ours
    │   ├── FilesUnreachable it does not answer, or not in time
    │   ├── FilesFull        it takes no more
    │   └── FilesDiffer      other bytes lie there under the name of a file
    ├── BackupError          a backup cannot be made, or cannot be restored
    ├── MoveError            a library cannot be moved to a database server
    ├── ModelUnavailable     weights are missing, torn or not the ones we know
    │   └── ModelAway        its server does not answer for now
    ├── ChatModelError       a chat model cannot be reached, refuses, or breaks off
    ├── DocumentError        a file cannot be added
    │   ├── UnsupportedFormat
    │   │   └── TooOld       only LibreOffice can open it
    │   ├── EmptyFile
    │   ├── DamagedFile
    │   ├── PasswordNeeded
    │   │   └── WrongPassword
    │   ├── NoText
    │   ├── LimitReached     too large, too many pages, too slow, too much memory: names the limit
    │   └── AddressError     what is given is no web address that can be fetched
    │       ├── AddressNotPublic
    │       ├── SiteSilent   it cannot be reached, or breaks off
    │       ├── PageRefused  it does not give the page: not found, not without signing in …
    │       └── FetchStopped a person did not want to wait for it any longer
    ├── UnknownDocument
    ├── UnknownConversation
    ├── NotAllowed           it can be seen, but not changed, by who asks
    ├── AccessError          what was wanted of people, groups or collections cannot be had
    │   ├── UnknownCollection  there is none, or none that this person may see
    │   ├── UnknownGrantee   no such person or group, or one who was removed
    │   ├── NameTaken
    │   ├── LastOwner        a collection would be left without an owner
    │   └── LastAdministrator  nobody would be left to manage people
    ├── QuotaReached         a person has used up what they may
    ├── QueryError           a query over tables has no result: it is wrong, or divides by zero
    │   ├── QueryRefused     it is more than one SELECT of the tables that were opened
    │   └── QueryStopped     it takes more time or memory than it may
    └── QuestionError        empty, too long, or nothing to ask yet

`code` is stored with a failed document and is what programs test; the message is for people."""

from __future__ import annotations


class RagAppError(Exception):
    """Base of all errors whose message may be shown to a user."""

    code = "error"


class SettingsError(RagAppError):
    """A setting has a value that cannot be used."""

    code = "settings"


class LibraryInUse(RagAppError):
    """Another process owns the data directory."""

    code = "library_in_use"


class LibraryDamaged(RagAppError):
    """The library's own file cannot be used."""

    code = "library_damaged"


class LibraryClosed(RagAppError):
    """The library was closed while it was still being asked."""

    code = "library_closed"

    @classmethod
    def now(cls) -> LibraryClosed:
        """The error in the words that are always used for it."""
        return cls("The app was closed before this was done. Ask again when it runs.")


class DiskFull(RagAppError):
    """No room is left where the library lies; what is under way goes on when there is."""

    code = "disk_full"

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

    code = "database_unavailable"


class FilesError(RagAppError):
    """The store of files cannot be used; what is under way goes on when it can."""

    code = "files"


class FilesMissing(FilesError):
    """There is no such bucket, or folder."""

    code = "files_missing"


class FilesRefused(FilesError):
    """The store of files does not let us do that, or knows no key of ours."""

    code = "files_refused"


class FilesUnreachable(FilesError):
    """The store of files does not answer, or not in time."""

    code = "files_unreachable"


class FilesFull(FilesError):
    """The store of files takes no more."""

    code = "files_full"


class FilesDiffer(FilesError):
    """Other bytes lie there under the name that a file is to have."""

    code = "files_differ"


class BackupError(RagAppError):
    """A backup cannot be made, or cannot be restored."""

    code = "backup"


class MoveError(RagAppError):
    """A library cannot be moved to a database server; what was begun there is gone again."""

    code = "move"


class ModelUnavailable(RagAppError):
    """Model weights are missing, torn or not the ones we know."""

    code = "model_unavailable"


class ModelAway(ModelUnavailable):
    """The server of a model does not answer for now: what waits for it goes on by itself."""

    code = "model_away"


class ChatModelError(RagAppError):
    """A chat model cannot be reached, refuses, or breaks off."""

    code = "chat_model"


class DocumentError(RagAppError):
    """A file cannot be added."""

    code = "document"


class UnsupportedFormat(DocumentError):
    """No reader for this kind of file."""

    code = "unsupported_format"


class TooOld(UnsupportedFormat):
    """Only another program can open the file."""

    code = "too_old"


class EmptyFile(DocumentError):
    """The file has no bytes."""

    code = "empty_file"


class DamagedFile(DocumentError):
    """The file is torn, or is not what its name says."""

    code = "damaged_file"


class PasswordNeeded(DocumentError):
    """The file is encrypted and no password was given."""

    code = "password_needed"


class WrongPassword(PasswordNeeded):
    """The file is encrypted and the password given does not open it."""

    code = "wrong_password"


class NoText(DocumentError):
    """The file can be read, and there is no text in it."""

    code = "no_text"


class LimitReached(DocumentError):
    """The file is over one of the limits in the settings; the message names it."""

    code = "limit_reached"


class AddressError(DocumentError):
    """What is given is no web address that can be fetched."""

    code = "address"


class AddressNotPublic(AddressError):
    """The address lies on this computer or in a network that is nobody else's business."""

    code = "address_not_public"


class SiteSilent(AddressError):
    """The site of an address cannot be reached, or breaks off."""

    code = "site_silent"


class PageRefused(AddressError):
    """The site does not give the page."""

    code = "page_refused"


class FetchStopped(AddressError):
    """A person did not want to wait for a page any longer."""

    code = "fetch_stopped"


class UnknownDocument(RagAppError):
    """No document of that id or name."""

    code = "unknown_document"


class UnknownConversation(RagAppError):
    """No conversation of that id."""

    code = "unknown_conversation"


class NotAllowed(RagAppError):
    """Who asks may see it, but not do this."""

    code = "not_allowed"


class AccessError(RagAppError):
    """What was wanted of people, groups or collections cannot be had."""

    code = "access"


class UnknownCollection(AccessError):
    """There is no such collection, or none that this person may see: the two are not told apart."""

    code = "unknown_collection"


class UnknownGrantee(AccessError):
    """There is no such person or group, or they were removed."""

    code = "unknown_grantee"


class NameTaken(AccessError):
    """Something else goes by this name already."""

    code = "name_taken"


class LastOwner(AccessError):
    """A collection would be left without an owner."""

    code = "last_owner"


class LastAdministrator(AccessError):
    """Nobody would be left to manage people."""

    code = "last_administrator"


class QuotaReached(RagAppError):
    """A person has used up what they may; `retry_after` seconds later it is free, None: not by
    waiting."""

    code = "quota"

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class QueryError(RagAppError):
    """A query over tables has no result."""

    code = "query"


class QueryRefused(QueryError):
    """A query is something else than one SELECT of the tables that were opened."""

    code = "query_refused"


class QueryStopped(QueryError):
    """A query takes more time or memory than it may."""

    code = "query_stopped"


class QuestionError(RagAppError):
    """The question is empty or too long, or there is nothing to ask yet."""

    code = "question"


def error_class(code: str) -> type[RagAppError]:
    """The class with this `code`, RagAppError itself if there is none."""
    pending: list[type[RagAppError]] = [RagAppError]
    while pending:
        cls = pending.pop()
        if cls.code == code:
            return cls
        pending.extend(cls.__subclasses__())
    return RagAppError
