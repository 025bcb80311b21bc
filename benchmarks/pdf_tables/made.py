"""Everyday tables drawn as PDFs: what the filings have not, and what is right is known.

python -m benchmarks.pdf_tables.made FOLDER"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import Paragraph, SimpleDocTemplate, Spacer, Table

_TEXT = getSampleStyleSheet()["BodyText"]
_RULED = [("GRID", (0, 0), (-1, -1), 0.5, colors.black), ("FONTSIZE", (0, 0), (-1, -1), 9)]
_TIGHT = [
    ("FONTSIZE", (0, 0), (-1, -1), 7),
    ("LEFTPADDING", (0, 0), (-1, -1), 2),
    ("RIGHTPADDING", (0, 0), (-1, -1), 2),
]


def _wrapped(rows: list[list[str]], column: int) -> list[list[Any]]:
    """A column of long texts, broken into lines in its cells."""
    return [
        [Paragraph(text, _TEXT) if at == column and number else text for at, text in enumerate(row)]
        for number, row in enumerate(rows)
    ]


def tables() -> dict[str, Table]:
    """The tables by the names of their files."""
    return {
        "made_invoice.pdf": Table(
            _wrapped(
                [
                    ["Pos", "Description", "Qty", "Unit price", "Total"],
                    ["1", "Oak board, planed on both sides, 2.4 m, second choice",
                     "6", "31.50", "189.00"],
                    ["2", "Hinges", "12", "2.10", "25.20"],
                    ["3", "Delivery to the second floor, without the use of a lift, by two people",
                     "1", "45.00", "45.00"],
                    ["4", "Wax", "2", "9.80", "19.60"],
                    ["", "Net", "", "", "278.80"],
                ],
                1,
            ),
            colWidths=[30, 190, 40, 70, 70],
            style=_RULED,
        ),
        "made_timetable.pdf": Table(
            [
                ["Stop", "Mon-Fri", "Mon-Fri", "Mon-Fri", "Sat", "Sun"],
                ["Harbour", "6:05", "6:35", "7:05", "7:20", "8:20"],
                ["Old Mill", "6:11", "6:41", "7:11", "–", "8:26"],
                ["Church Street", "6:14", "6:44", "7:14", "7:29", "8:29"],
                ["Station", "6:22", "6:52", "7:22", "7:37", "8:37"],
                ["Hospital", "6:29", "–", "7:29", "7:44", "–"],
            ],
            style=_TIGHT,
        ),
        "made_statement.pdf": Table(
            [
                ["Date", "Details", "Paid out", "Paid in", "Balance"],
                ["03 Mar", "Rent Harbour Lettings", "1,175.00", "", "3,035.55"],
                ["04 Mar", "Salary", "", "2,640.00", "5,675.55"],
                ["09 Mar", "Car repair", "612.30", "", "5,063.25"],
                ["17 Mar", "Refund", "", "129.99", "5,193.24"],
                ["30 Mar", "Sold bike", "", "240.00", "5,433.24"],
            ],
            colWidths=[60, 180, 70, 70, 70],
            style=[("ALIGN", (2, 0), (-1, -1), "RIGHT"), ("FONTSIZE", (0, 0), (-1, -1), 9)],
        ),
        "made_prices.pdf": Table(
            [
                ["Room", "Low season", "", "High season", ""],
                ["", "1 night", "7 nights", "1 night", "7 nights"],
                ["Single", "48 €", "290 €", "62 €", "380 €"],
                ["Double, sea view", "79 €", "480 €", "104 €", "640 €"],
                ["Family", "95 €", "575 €", "128 €", "790 €"],
                ["Dog", "5 €", "free", "5 €", "30 €"],
            ],
            style=[*_RULED, ("SPAN", (1, 0), (2, 0)), ("SPAN", (3, 0), (4, 0))],
        ),
        "made_marks.pdf": Table(
            [
                ["Name", "Quiz 1", "Quiz 2", "Essay", "Grade"],
                ["Archer, Ben", "8", "9", "17", "A"],
                ["Costa, Yara", "6", "", "11", "C"],
                ["Frost, Ella", "", "7", "", "D"],
                ["Haddad, Noor", "9", "9", "14", "B"],
                ["Sato, Hana", "10", "8", "19", "A"],
            ],
            colWidths=[90, 45, 45, 45, 45],
            style=_RULED,
        ),
        "made_nutrition.pdf": Table(
            [
                ["Nutrition", "per 100 g", "per portion", "% RI"],
                ["Energy", "1,540 kJ", "462 kJ", "6%"],
                ["Fat", "4.2 g", "1.3 g", "2%"],
                ["of which saturates", "0.9 g", "0.3 g", "1%"],
                ["Carbohydrate", "71 g", "21 g", "8%"],
                ["Salt", "0.02 g", "<0.01 g", "0%"],
            ],
            style=_TIGHT,
        ),
        "made_league.pdf": Table(
            [
                ["", "Team", "P", "W", "D", "L", "Goals", "Pts"],
                ["1", "Harbour United", "18", "12", "4", "2", "41:17", "40"],
                ["2", "TSV Oberdorf", "18", "11", "3", "4", "38:22", "36"],
                ["3", "FC 07 Kehl II", "18", "9", "5", "4", "30:21", "32"],
                ["4", "Rovers", "17", "9", "2", "6", "29:25", "29"],
                ["5", "SpVgg Tal", "18", "2", "3", "13", "14:47", "9"],
            ],
            style=[*_TIGHT, ("LINEBELOW", (0, 0), (-1, 0), 1, colors.black)],
        ),
        "made_bill.pdf": Table(
            [
                ["Leistung", "Menge", "Preis", "Betrag"],
                ["Arbeitspreis Tag", "1.240 kWh", "0,3120 €/kWh", "386,88 €"],
                ["Arbeitspreis Nacht", "610 kWh", "0,2480 €/kWh", "151,28 €"],
                ["Grundpreis", "12 Monate", "9,90 €/Monat", "118,80 €"],
                ["Abschläge", "", "", "-600,00 €"],
                ["Nachzahlung", "", "", "56,96 €"],
            ],
            style=[("ALIGN", (1, 0), (-1, -1), "RIGHT"), ("FONT", (0, 0), (-1, -1), "Times-Roman")],
        ),
        "made_rota.pdf": Table(
            [
                ["Week", "Kitchen", "Bathroom", "Bins", "Stairs"],
                ["9 Mar", "Ann", "Ben", "Cleo", "Dev"],
                ["16 Mar", "Ben", "Cleo", "Dev", "Ann"],
                ["23 Mar", "Cleo", "Dev", "Ann", "Ben"],
                ["30 Mar", "Dev", "Ann", "Ben", "nobody (holiday)"],
            ],
            style=_RULED,
        ),
        "made_doses.pdf": Table(
            [
                ["Age", "Weight", "Single dose", "", "Most in 24 hours"],
                ["", "", "ml", "mg", ""],
                ["3-5 months", "5-7 kg", "2.5", "50", "3 doses"],
                ["6-11 months", "7-10 kg", "2.5", "50", "4 doses"],
                ["1-3 years", "10-15 kg", "5", "100", "3 doses"],
                ["4-6 years", "15-20 kg", "7.5", "150", "3 doses"],
            ],
            colWidths=[80, 70, 50, 50, 100],
            style=[("LINEABOVE", (0, 0), (-1, 0), 1, colors.black), ("SPAN", (2, 0), (3, 0))],
        ),
        "made_account.pdf": Table(
            [
                ["Buchung", "Wert", "Text", "Soll", "Haben"],
                ["02.03.", "02.03.", "Miete Wohnung 4", "875,00", ""],
                ["05.03.", "06.03.", "Gehalt", "", "2.310,45"],
                ["09.03.", "09.03.", "Karte Markt am Ring", "63,17", ""],
                ["17.03.", "17.03.", "Rückzahlung", "", "49,90"],
            ],
            style=[
                *_TIGHT,
                ("FONT", (0, 0), (-1, -1), "Courier"),
                ("ALIGN", (3, 0), (-1, -1), "RIGHT"),
            ],
        ),
    }  # fmt: skip


def main(folder: Path) -> None:
    """Draw them, some text above and below each."""
    for name, table in tables().items():
        above = Paragraph("What follows is as of today and may change without notice.", _TEXT)
        below = Paragraph(
            "Ask at the desk, which is open from 9 to 17, if anything is unclear.", _TEXT
        )
        page = SimpleDocTemplate(str(folder / name), pagesize=A4)
        page.build([above, Spacer(1, 12), table, Spacer(1, 12), below])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
