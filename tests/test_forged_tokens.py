"""A provider that is not what it says: what its tokens are worth, over real connections."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.test_web_guard import serving

pytest.importorskip("authlib", reason="authlib is not installed (make install-dev)")

from joserfc import jwt
from joserfc.jwk import KeySet, OctKey, RSAKey

pytestmark = pytest.mark.timeout(300)
SECRET = "only for this test, only for this test"
USER = "_streamlit_user"


class Provider(ThreadingHTTPServer):
    """Signs somebody in with the token that a test wants."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.key, self.other = (RSAKey.generate_key(2048, {"kid": "one"}) for _ in range(2))
        self.nonce, self.kind = "", ""

    def token(self) -> str:
        """Somebody's token, as it is wanted: honest, or forged in one way."""
        now = int(time.time())
        claims = {"iss": self.url, "aud": "rag-app", "sub": "ada", "iat": now, "exp": now + 600}
        claims |= {"nonce": self.nonce}
        claims |= {
            "foreign": {"aud": "another-app"},
            "expired": {"iat": now - 9_000, "exp": now - 8_000},
            "replayed": {"nonce": "of another sign-in"},
            "other issuer": {"iss": "https://evil.example"},
        }.get(self.kind, {})
        header, key = {"alg": "RS256", "kid": "one"}, self.key
        if self.kind == "forged":
            key = self.other
        elif self.kind == "mixed up":  # signed with what everybody knows
            header = {"alg": "HS256", "kid": "one"}
            key = OctKey.import_key(self.key.as_pem(private=False))
        made = jwt.encode(header, claims, key, algorithms=["RS256", "HS256"])
        return _unsigned(made) if self.kind == "unsigned" else made


def _unsigned(token: str) -> str:
    _, claims, _ = token.split(".")
    return f"eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.{claims}."


class _Answering(BaseHTTPRequestHandler):
    server: Provider

    def do_GET(self) -> None:
        at = self.server.url
        if self.path.startswith("/keys"):
            return self._give(KeySet([self.server.key]).as_dict(private=False))
        self._give(
            {
                "issuer": at,
                "authorization_endpoint": f"{at}/authorize",
                "token_endpoint": f"{at}/token",
                "jwks_uri": f"{at}/keys",
                "id_token_signing_alg_values_supported": ["RS256"],
            }
        )

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        token = self.server.token()
        self._give({"access_token": "x", "token_type": "Bearer", "id_token": token})

    def _give(self, said: dict) -> None:
        body = json.dumps(said).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing on standard error."""


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    made = Provider()
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


@pytest.fixture(scope="module")
def served(provider, tmp_path_factory) -> Iterator[str]:
    """The address of an app that believes it."""
    told = {
        "RAG_APP_SIGN_IN": "oidc",
        "RAG_APP_OIDC_URL": provider.url,
        "RAG_APP_OIDC_CLIENT": "rag-app",
        "RAG_APP_OIDC_SECRET": "hush",
        "RAG_APP_COOKIE_SECRET": SECRET,
        "RAG_APP_PUBLIC_URL": "http://127.0.0.1:1",  # nobody follows it
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
    }
    with serving(tmp_path_factory.mktemp("served"), **told) as running:
        yield f"http://127.0.0.1:{running.port}"


def signed_in(served: str, provider: Provider, kind: str) -> bool:
    """Whether the page takes somebody for signed in who comes back with such a token."""
    provider.kind = kind
    begin = jwt.encode(
        {"alg": "HS256"},
        {"provider": "default", "exp": int(time.time()) + 60},
        OctKey.import_key(SECRET),
    )
    with httpx.Client(base_url=served, trust_env=False, timeout=60) as browser:
        there = browser.get("/auth/login", params={"provider": begin})
        asked = parse_qs(urlsplit(there.headers["Location"]).query)
        provider.nonce = asked["nonce"][0]
        back = browser.get(
            "/oauth2callback",
            params={"state": asked["state"][0], "code": "any", "iss": provider.url},
        )
        return any(
            line.startswith(f"{USER}=") and f'{USER}=""' not in line and "Max-Age=0" not in line
            for line in back.headers.get_list("set-cookie")
        )


def test_an_honest_token_signs_in(served, provider):
    assert signed_in(served, provider, "honest")


@pytest.mark.parametrize(
    "kind", ["forged", "unsigned", "mixed up", "foreign", "expired", "replayed", "other issuer"]
)
def test_a_token_that_is_not_what_it_says_signs_nobody_in(served, provider, kind):
    assert not signed_in(served, provider, kind)
