"""The text of formats that a peer has no loader for without further services. Knows no peer."""

from __future__ import annotations

import email
import email.policy
from pathlib import Path


def mail(path: Path) -> str:
    """Subject, sender, recipient and date of a message, and its text part."""
    message = email.message_from_bytes(path.read_bytes(), policy=email.policy.default)
    heads = [f"{name}: {message[name]}" for name in ("Subject", "From", "To", "Date")]
    body = message.get_body(("plain", "html"))
    return "\n".join([*heads, "", str(body.get_content()) if body else ""])


def delimiter(path: Path) -> str:
    """What parts the cells of a table in text; loaders take it for a comma."""
    head = path.read_text(encoding="utf-8-sig", errors="replace").partition("\n")[0]
    return max(";,\t", key=head.count)


def workbook(path: Path) -> str:
    """Every sheet of a workbook as pandas prints it."""
    import pandas

    sheets = pandas.read_excel(path, sheet_name=None, header=None, engine="openpyxl")
    return "\n\n".join(
        f"{name}\n{sheet.to_string(index=False, header=False, na_rep='')}"
        for name, sheet in sheets.items()
    )
