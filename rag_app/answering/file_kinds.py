"""Nouns for kinds of files, "the spreadsheet", and the suffixes they stand for. Pure; English."""

from __future__ import annotations

_KINDS = {
    "email e-mail mail message": ".eml .msg .mbox",
    "spreadsheet workbook excel sheet": ".xlsx .xls .xlsm .xlsb .xltx .ods .ots .csv .tsv .tab",
    "csv": ".csv .tsv .tab",
    "presentation slide powerpoint deck": ".pptx .ppt .pptm .ppsx .pps .potx .odp .otp",
    "pdf": ".pdf",
    "word": ".docx .doc .docm .dotx .dot .odt .ott .rtf",
    "webpage website": ".html .htm .xhtml .xht .mht .mhtml",
    "ebook e-book epub": ".epub",
    "picture image photo screenshot": ".png .jpg .jpeg .jpe .gif .bmp .tif .tiff .webp",
    "markdown": ".md .markdown .mdown .mkd",
    "subtitle": ".srt .vtt",
}
SUFFIXES = {
    noun: frozenset(suffixes.split())
    for nouns, suffixes in _KINDS.items()
    for noun in nouns.split()
}


def singular(word: str) -> str:
    """A noun of which there is one; one for files that ends with s stays."""
    return word if word in SUFFIXES else word.removesuffix("s")
