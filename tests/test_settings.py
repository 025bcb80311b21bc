from __future__ import annotations

import os
from pathlib import Path

import pytest

from rag_app.errors import SettingsError
from rag_app.settings import Settings, quiet_dependencies


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
    quiet_dependencies()
    assert os.environ["LANGSMITH_TRACING"] == os.environ["LANGCHAIN_TRACING_V2"] == "false"
    assert os.environ["ANONYMIZED_TELEMETRY"] == "False"
    assert os.environ["HF_HUB_OFFLINE"] == "1"


def test_the_data_directory_is_the_same_wherever_the_process_goes(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert Settings.load(data_dir="~/papers").folder == tmp_path.resolve() / "papers"
    monkeypatch.chdir(tmp_path)
    folder = Settings.load(data_dir="papers").folder
    assert folder.is_absolute() and folder == tmp_path.resolve() / "papers"
