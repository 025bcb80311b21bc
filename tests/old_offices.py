"""Old Office files made by hand, as small as they can be: compound files and what is in them."""

from __future__ import annotations

import struct
from collections.abc import Mapping


def compound(streams: Mapping[str, bytes]) -> bytes:
    """An OLE compound file of these streams; "folder/name" stands in a storage of its own.

    Every stream is filled up to 4,096 bytes, so that none needs the small sectors."""
    entries: list[list[object]] = [["Root Entry", 5, -1, b""]]  # name, type, parent, data
    places: dict[str, int] = {}
    for path, data in streams.items():
        folder, _, name = path.rpartition("/")
        above = 0
        steps = folder.split("/") if folder else []
        for depth, step in enumerate(steps, 1):
            inside = "/".join(steps[:depth])
            if inside not in places:
                places[inside] = len(entries)
                entries.append([step, 1, above, b""])
            above = places[inside]
        entries.append([name, 2, places.get(folder, 0), data.ljust(4_096, b"\0")])
    directory_sectors = -(-len(entries) * 128 // 512)
    sizes = [-(-len(entry[3]) // 512) for entry in entries]  # type: ignore[arg-type]
    fat_sectors = 1
    while fat_sectors * 128 < fat_sectors + directory_sectors + sum(sizes):
        fat_sectors += 1
    fat = [0xFFFFFFFD] * fat_sectors
    fat += [*range(fat_sectors + 1, fat_sectors + directory_sectors), 0xFFFFFFFE]
    directory, body = b"", b""
    for index, (name, kind, parent, data) in enumerate(entries):
        start = len(fat) if sizes[index] else 0xFFFFFFFE
        fat += [*range(start + 1, start + sizes[index]), 0xFFFFFFFE] if sizes[index] else []
        body += data.ljust(sizes[index] * 512, b"\0")  # type: ignore[union-attr]
        siblings = [n for n, each in enumerate(entries) if n and each[2] == parent]
        after = next((n for n in siblings if n > index), 0xFFFFFFFF) if index else 0xFFFFFFFF
        child = next((n for n, each in enumerate(entries) if n and each[2] == index), 0xFFFFFFFF)
        raw = (str(name) + "\0").encode("utf-16-le")
        directory += struct.pack(
            "<64sHBBIII16sIQQIQ", raw, len(raw), kind, 1, 0xFFFFFFFF, after, child,
            b"", 0, 0, 0, start, len(data),  # type: ignore[arg-type]
        )  # fmt: skip
    header = struct.pack(
        "<8s16sHHHHH6sIIIIIIIIII", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"", 0x3E, 3, 0xFFFE, 9, 6,
        b"", 0, fat_sectors, fat_sectors, 0, 4_096, 0xFFFFFFFE, 0, 0xFFFFFFFE, 0, 0,
    )[:76]  # fmt: skip
    fats = [*range(fat_sectors), *[0xFFFFFFFF] * (109 - fat_sectors)]
    table = struct.pack(f"<{len(fat)}I", *fat).ljust(fat_sectors * 512, b"\xff")
    return (
        header
        + struct.pack("<109I", *fats)
        + table
        + directory.ljust(directory_sectors * 512, b"\0")
        + body
    )


def word(text: str, headings: int = 0, flags: int = 0, version: int = 193) -> dict[str, bytes]:
    """The streams of an old Word document in one piece; its first paragraphs may be headings."""
    text_at, page_at = 1_024, 8_192
    raw = text.encode("utf-16-le")
    clx = b"\x02" + struct.pack("<I", 16) + struct.pack("<IIHIH", 0, len(text), 0, text_at, 0)
    ends = [text_at + 2 * (n + 1) for n, each in enumerate(text) if each in "\r\x07"]
    bounds = [text_at, *ends]
    page = struct.pack(f"<{len(bounds)}I", *bounds)
    pages = bytearray(page.ljust(512, b"\0"))
    for index in range(len(ends)):
        style = index + 1 if index < headings else 0
        is_cell = text[(bounds[index] - text_at) // 2 : (ends[index] - text_at) // 2].endswith(
            "\x07"
        )
        ends_row = is_cell and ends[index] - bounds[index] == 2
        properties = (b"\x16\x24\x01" if is_cell else b"") + (b"\x17\x24\x01" if ends_row else b"")
        properties = struct.pack("<H", style) + properties.ljust(7, b"\0")
        at = 500 - 12 * (index + 1)
        pages[at : at + 10] = bytes([5]) + properties
        pages[len(page) + 13 * index] = at // 2
    pages[511] = len(ends)
    plc = struct.pack("<III", text_at, bounds[-1], page_at // 512)
    stream = bytearray(page_at)
    struct.pack_into("<HH6xH", stream, 0, 0xA5EC, version, flags)
    struct.pack_into("<8i", stream, 0x4C, len(text), 0, 0, 0, 0, 0, 0, 0)
    struct.pack_into("<II", stream, 154 + 13 * 8, 100, len(plc))
    struct.pack_into("<II", stream, 154 + 33 * 8, 200, len(clx))
    stream[text_at : text_at + len(raw)] = raw
    table = bytearray(300)
    table[100 : 100 + len(plc)] = plc
    table[200 : 200 + len(clx)] = clx
    return {"WordDocument": bytes(stream + pages), "0Table": bytes(table)}


def _record(kind: int, *inside: bytes, instance: int = 0, container: bool = False) -> bytes:
    body = b"".join(inside)
    return struct.pack("<HHI", instance << 4 | (15 if container else 0), kind, len(body)) + body


def slides(*texts: str, notes: str = "") -> dict[str, bytes]:
    """The streams of an old presentation: titles in the outline, the rest in the drawings."""
    parts: list[bytes] = []
    listed = b""
    for number, text in enumerate(texts, 1):
        title, _, rest = text.partition("\n")
        parts.append(_record(1006, _record(4000, rest.encode("utf-16-le")), container=True))
        listed += _record(1011, struct.pack("<IIIII", number + 1, 0, 1, 255 + number, 0))
        listed += _record(3999, struct.pack("<I", 0)) + _record(4008, title.encode("latin-1"))
    lists = [_record(4080, listed, instance=0, container=True)]
    if notes:
        place = struct.pack("<IIIII", len(texts) + 2, 0, 0, 999, 0)
        lists.append(_record(4080, _record(1011, place), instance=2, container=True))
        about = _record(1009, struct.pack("<IHH", 255 + len(texts), 0, 0))
        parts.append(_record(1008, about, _record(4008, notes.encode()), container=True))
    data, places = b"", []
    for part in [_record(1000, *lists, container=True), *parts]:
        places.append(len(data))
        data += part
    directory = struct.pack("<I", len(places) << 20 | 1) + struct.pack(f"<{len(places)}I", *places)
    edit = struct.pack("<IIIIIIHH", 0, 0, 0, len(data), 1, 0, 0, 0)
    edit_at = len(data) + 8 + len(directory)
    data += _record(6002, directory) + _record(4085, edit)
    user = struct.pack("<HHIIII", 0, 4086, 20, 20, 0xE391C05F, edit_at)
    return {"PowerPoint Document": data, "Current User": user}
