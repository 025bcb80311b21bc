"""Which files of tests are begun first where several processes share them: those that take longest,
so that none of them is waited for alone in the end.

A file that is not named here takes a few seconds; `--durations=50` says what takes long."""

from __future__ import annotations

LONGEST = (
    "test_ingestion.py",
    "test_workers.py",
    "test_server_killed.py",
    "test_writer_engine.py",
    "test_offline_writer.py",
    "test_table_answers.py",
    "test_ocr.py",
    "test_killed.py",
    "test_ray_load.py",
    "test_candidate_queries.py",
    "test_training_writer.py",
    "test_api_served.py",
    "test_loading.py",
    "test_scoped_library.py",
    "test_api_described.py",
    "test_ocr_stage.py",
    "test_api.py",
    "test_backup.py",
    "test_app_access.py",
    "test_wheel.py",
    "test_app_languages.py",
    "test_app_who.py",
    "test_remote_originals.py",
    "test_sign_in_served.py",
    "test_web_guard.py",
    "test_cli.py",
    "test_health.py",
    "test_library.py",
    "test_round_trips.py",
    "test_offline.py",
    "test_learning.py",
    "test_reindexing.py",
    "test_api_clients.py",
    "test_web_address.py",
    "test_app_settings.py",
    "test_reading_sandbox.py",
    "test_app_library.py",
    "test_fair_queue.py",
    "test_confinement.py",
    "test_app_answers.py",
    "test_app_documents.py",
    "test_access.py",
    "test_row_security.py",
    "test_cli_access.py",
    "test_conversation_browser.py",
    "test_documents_browser.py",
    "test_sessions_browser.py",
    "test_sign_in_browser.py",
    "test_panel_browser.py",
    "test_web_address_browser.py",
)


def place(file: str) -> int:
    """Where a file stands among all of them."""
    return LONGEST.index(file) if file in LONGEST else len(LONGEST)
