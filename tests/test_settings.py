from __future__ import annotations

import os
from pathlib import Path

import pytest

from rag_app.environment import (
    bytes_in,
    child_environment,
    online_environment,
    pip_environment,
    quiet_dependencies,
)
from rag_app.errors import SettingsError
from rag_app.settings import Settings


def test_the_environment_is_read_and_arguments_go_before_it(monkeypatch):
    monkeypatch.setenv("RAG_APP_TOP_K", "3")
    assert Settings.load().top_k == 3
    assert Settings.load(top_k=5).top_k == 5
    assert Settings.load(top_k=None).top_k == 3


@pytest.mark.parametrize(
    ("name", "value"),
    [("TOP_K", "zero"), ("TOP_K", "0"), ("CAUTION", "2"), ("MAX_FILE_MB", "-1")],
)
def test_a_value_that_cannot_be_used_is_named(monkeypatch, name, value):
    monkeypatch.setenv(f"RAG_APP_{name}", value)
    with pytest.raises(SettingsError, match=f"RAG_APP_{name} cannot be '{value}'"):
        Settings.load()


def test_addresses_of_servers_are_checked_at_the_start():
    given = Settings.load(
        chat_servers=" http://a:1/v1/ , https://b ,", chat_key_url="https://api.example.com/v1"
    )
    assert given.shared_servers == ("http://a:1/v1", "https://b")
    assert Settings.load().shared_servers == ()
    for name in ("chat_servers", "chat_key_url"):
        with pytest.raises(SettingsError, match=f"RAG_APP_{name.upper()} cannot be .*no address"):
            Settings.load(**{name: "http://user:word@host"})
    with pytest.raises(SettingsError, match="RAG_APP_CHAT_KEY_URL"):
        Settings.load(chat_key_url="http://a,http://b")


def test_the_data_directory_is_where_the_system_wants_it(monkeypatch, tmp_path):
    monkeypatch.delenv("RAG_APP_DATA_DIR", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert Settings.load().data_dir == tmp_path / "rag-app"
    monkeypatch.delenv("XDG_DATA_HOME")
    assert Settings.load().data_dir == Path.home() / ".local" / "share" / "rag-app"


def test_tracing_and_telemetry_are_off_whatever_the_environment_says(monkeypatch):
    for name in ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2", "ANONYMIZED_TELEMETRY"):
        monkeypatch.setenv(name, "true")
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.delenv("ORT_DISABLE_TELEMETRY", raising=False)
    quiet_dependencies()
    assert os.environ["LANGSMITH_TRACING"] == os.environ["LANGCHAIN_TRACING_V2"] == "false"
    assert os.environ["ANONYMIZED_TELEMETRY"] == "False"
    assert os.environ["HF_HUB_OFFLINE"] == os.environ["ORT_DISABLE_TELEMETRY"] == "1"


@pytest.mark.parametrize("made", [child_environment, online_environment, pip_environment])
def test_no_key_is_handed_to_a_child_process(monkeypatch, made):
    keys = [
        *("RAG_APP_CHAT_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "HF_TOKEN", "API_KEY"),
        *("AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "DATABASE_URL", "SSH_AUTH_SOCK"),
    ]
    for name in keys:
        monkeypatch.setenv(name, "sk-secret")
    given = made()
    assert "sk-secret" not in given.values()
    assert given["PATH"] == os.environ["PATH"]
    assert given["ORT_DISABLE_TELEMETRY"] == "1" and given["OMP_WAIT_POLICY"] == "passive"


def test_who_fetches_models_is_told_how_to_reach_them(monkeypatch):
    reached = {"HTTPS_PROXY": "http://proxy:3128", "SSL_CERT_FILE": "/ca.pem"}
    registry = {"PIP_INDEX_URL": "http://registry/simple"}
    for name, value in (reached | registry).items():
        monkeypatch.setenv(name, value)
    assert reached.items() <= online_environment().items()
    assert online_environment()["HF_HUB_OFFLINE"] == "0"
    assert "PIP_INDEX_URL" not in online_environment()
    assert (
        reached | {"PIP_INDEX_URL": "http://registry/simple"}
    ).items() <= pip_environment().items()
    assert pip_environment()["HF_HUB_OFFLINE"] == "1"
    assert not reached.keys() & child_environment().keys()


def test_a_child_process_can_be_told_more():
    assert child_environment(TMPDIR="/elsewhere", MORE="1").items() >= {
        ("TMPDIR", "/elsewhere"),
        ("MORE", "1"),
    }


def test_the_data_directory_is_the_same_wherever_the_process_goes(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert Settings.load(data_dir="~/papers").folder == tmp_path.resolve() / "papers"
    monkeypatch.chdir(tmp_path)
    folder = Settings.load(data_dir="papers").folder
    assert folder.is_absolute() and folder == tmp_path.resolve() / "papers"


PROVIDER = {
    "sign_in": "oidc",
    "oidc_url": "https://id.example.org/realm",
    "oidc_client": "rag-app",
    "oidc_secret": "hush hush",
    "public_url": "https://docs.example.org",
}


def test_nobody_signs_in_unless_it_is_set():
    assert Settings.load().sign_in == "none"
    assert Settings.load(**PROVIDER).sign_in == "oidc"
    assert Settings.load(sign_in="headers").user_header == "X-Forwarded-User"


@pytest.mark.parametrize("missing", ["oidc_url", "oidc_client", "oidc_secret", "public_url"])
def test_a_provider_that_is_half_set_is_refused_with_what_is_missing(missing):
    for nothing in (None, ""):
        with pytest.raises(SettingsError, match=f"needs RAG_APP_{missing.upper()} as well") as said:
            Settings.load(**{**PROVIDER, missing: nothing})
        assert "hush" not in str(said.value)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"oidc_url": "https://id.example.org"},
            "RAG_APP_SIGN_IN is none, and only oidc takes RAG_APP_OIDC_URL:",
        ),
        ({"sign_in": "headers", "oidc_secret": "hush"}, "only oidc takes RAG_APP_OIDC_SECRET:"),
        (
            {"oidc_url": "https://id.example.org", "oidc_client": "c", "oidc_secret": "hush"},
            "only oidc takes RAG_APP_OIDC_URL, RAG_APP_OIDC_CLIENT and RAG_APP_OIDC_SECRET:",
        ),
        ({"queues": "embed,foo"}, "RAG_APP_QUEUES cannot be 'embed,foo': it is neither"),
        ({"cookie_secret": "hush"}, "RAG_APP_COOKIE_SECRET must have 32 characters"),
        ({"sign_in": "magic"}, "RAG_APP_SIGN_IN cannot be 'magic'"),
        ({"public_url": "docs.example.org"}, "RAG_APP_PUBLIC_URL cannot be"),
        ({"public_url": "https://a:b@docs.example.org"}, "RAG_APP_PUBLIC_URL cannot be"),
        ({"oidc_url": "ldap://id"}, "RAG_APP_OIDC_URL cannot be"),
        ({"proxies": "proxy.example.org"}, "RAG_APP_PROXIES cannot be"),
        ({"proxies": "10.0.0.1, 0.0.0.0/0"}, "RAG_APP_PROXIES cannot be .*everybody"),
        ({"proxies": "::/0"}, "RAG_APP_PROXIES cannot be .*everybody"),
        ({"user_header": ""}, "RAG_APP_USER_HEADER cannot be"),
        ({"user_header": "X-User, X-Other"}, "RAG_APP_USER_HEADER cannot be"),
        ({"groups_header": "X Groups"}, "RAG_APP_GROUPS_HEADER cannot be"),
    ],
)
def test_what_does_not_go_together_is_said_in_a_sentence(given, said):
    with pytest.raises(SettingsError, match=said) as error:
        Settings.load(**given)
    assert "hush" not in str(error.value)


@pytest.mark.parametrize(
    ("given", "issuer"),
    [
        ("https://id.example.org/realm", "https://id.example.org/realm"),
        ("https://id.example.org/", "https://id.example.org"),
        ("https://id.example.org/v2/.well-known/openid-configuration", "https://id.example.org/v2"),
    ],
)
def test_a_provider_is_named_by_its_issuer_or_by_its_metadata(given, issuer):
    settings = Settings.load(**{**PROVIDER, "oidc_url": given})
    assert settings.issuer == issuer
    assert settings.metadata_url == f"{issuer}/.well-known/openid-configuration"
    named = Settings.load(**PROVIDER, oidc_issuer="https://sts.example.org/7/")
    assert named.issuer == "https://sts.example.org/7"


def test_where_browsers_reach_the_page_is_written_as_they_write_it():
    for given in ("https://Docs.Example.org:443/", "HTTPS://docs.example.org"):
        assert Settings.load(public_url=given).public_url == "https://docs.example.org"
    for kept in ("http://127.0.0.1:8501", "https://docs.example.org:8443/Our/Docs", ""):
        assert Settings.load(public_url=kept).public_url == kept


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.168.1.5", "fd00::1", "attic", "", None])
def test_without_a_sign_in_no_address_is_listened_on_that_others_reach(monkeypatch, address):
    said = Settings.load().exposed_on(address)
    assert "RAG_APP_OPEN_TO_ALL=yes" in said and "RAG_APP_SIGN_IN" in said
    assert Settings.load(open_to_all=True).exposed_on(address)  # half of it may be an accident
    assert Settings.load(sign_in="none").exposed_on(address)
    assert not Settings.load(sign_in="headers").exposed_on(address)
    assert not Settings.load(**PROVIDER).exposed_on(address)
    monkeypatch.setenv("RAG_APP_SIGN_IN", "none")
    monkeypatch.setenv("RAG_APP_OPEN_TO_ALL", "yes")
    assert not Settings.load().exposed_on(address)


@pytest.mark.parametrize("address", ["127.0.0.1", "localhost", "::1", "127.0.0.2"])
def test_ones_own_computer_needs_no_sign_in(address):
    assert not Settings.load().exposed_on(address)


def test_a_folder_is_measured_while_others_tidy_it_up(monkeypatch, tmp_path):
    (tmp_path / "kept").write_bytes(b"12345")
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "part").write_bytes(b"678")
    assert bytes_in(tmp_path) == 8
    assert bytes_in(tmp_path / "nowhere") == 0
    listed = os.scandir

    def tidied(folder):
        if Path(folder).name == "half":
            (tmp_path / "half" / "part").unlink()
            (tmp_path / "half").rmdir()
        return listed(folder)

    monkeypatch.setattr(os, "scandir", tidied)
    assert bytes_in(tmp_path) == 5
