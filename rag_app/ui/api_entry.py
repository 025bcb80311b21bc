"""The API beside the page: the same process, the same open library."""

from __future__ import annotations

from functools import cache

from rag_app.access.keys import is_key
from rag_app.library import Library
from rag_app.scope import Scope
from rag_app.server.gate import KeyFile, KeyHolder
from rag_app.server.mount import Mounted, mounted
from rag_app.settings import Settings


def api(settings: Settings) -> Mounted:
    """The API over the library of this process: for the key in its data directory, or, where people
    sign in, for the keys that they have made."""
    keys: KeyHolder = PeopleKeys()
    if settings.sign_in == "none":
        own = KeyFile(settings.folder)
        own.key()
        keys = own
    return mounted(_library, keys, settings)


class PeopleKeys:
    """The keys of people who sign in; each opens what its owner may see, now.

    At the first sight of somebody what their first search would wait for is loaded, as it is when
    they open the page."""

    def __init__(self) -> None:
        self._seen: set[str] = set()  # subjects

    def scope_of_key(self, secret: str) -> Scope | None:
        """The view of whose key it is; None for what is no key, or nobody's any more. For what is
        not even made like one the library is not opened."""
        if not is_key(secret):
            return None
        library = _library()
        subject = library.access.api_keys.subject_of(secret)
        if subject is None:
            return None
        scope = library.access.scope_of(subject)
        if subject not in self._seen and library.warm_state == "ready":
            self._seen.add(subject)
            library.scoped(scope).prepare()
        return scope


def _library() -> Library:
    # Streamlit can keep what this module marks once it serves, and not before.
    from rag_app.ui import app_entry

    return app_entry.open_library(_settings())


@cache
def _settings() -> Settings:
    from rag_app.ui import web_guard

    return web_guard.settings()
