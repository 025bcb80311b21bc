"""Reads the 12 written files back, cleaned, and holds them against truth.json. Shares no code with make_sheets.py."""
import csv, datetime as dt, io, json, re
from pathlib import Path
from openpyxl import load_workbook

HERE = Path(__file__).parent.parent
DOCS = HERE / "documents"
TRUTH = json.loads((HERE / "truth.json").read_text())


def cells(name):
    ws = load_workbook(DOCS / name).worksheets[0]
    return [[c for c in row] for row in ws.iter_rows(values_only=True)]


def date(v):
    if isinstance(v, dt.datetime): return v.date()
    if not isinstance(v, str): return None
    for f in ("%d.%m.%Y", "%Y-%m-%d", "%d %b %Y"):
        try: return dt.datetime.strptime(v.strip(), f).date()
        except ValueError: pass
    return None


def num(v, comma=False):
    if v is None: return None
    if isinstance(v, (int, float)): return v
    s = re.sub(r"[£€%]|EUR|kWh|km|h$", "", v.strip()).strip()
    if s in ("", "-", "n/a", "abs", "Abs"): return None
    neg = s.startswith("(")
    s = s.strip("()")
    s = s.replace(".", "").replace(",", ".") if comma else s.replace(",", "")
    return -float(s) if neg else float(s)


def t(v):
    return re.sub(r"\s+", " ", str(v if v is not None else "")).strip()


def same(v, options):
    hit = [o for o in options if o.lower() == t(v).lower()]
    assert len(hit) == 1, (v, options)
    return hit[0]


def load():
    A = {}
    # 1
    rows = []
    for c in cells("Expenses Q1.xlsx")[4:]:
        if date(c[0]): rows.append(dict(date=date(c[0]), who=t(c[1]).title(), what=t(c[2]), category=t(c[3]).capitalize(), amount=num(c[4]), status=t(c[5]).lower(), raw=c))
    A["Expenses Q1.xlsx"] = rows
    # 2
    rows = []
    for c in cells("Time sheet Oct-Dec.xlsx")[3:]:
        if date(c[0]) and c[1]: rows.append(dict(date=date(c[0]), who=t(c[1]).title(), project=t(c[2]).capitalize(), task=t(c[3]).capitalize(), hours=num(c[4]), billable="yes" if t(c[5]).lower()[0] == "y" else "no", raw=c))
    A["Time sheet Oct-Dec.xlsx"] = rows
    # 3
    rows = []
    for c in csv.reader(io.StringIO((DOCS / "Auftraege_2024.csv").read_bytes().decode("cp1252")), delimiter=";"):
        if c[0].startswith("A-"): rows.append(dict(no=c[0], date=date(c[1]), region=t(c[2]).capitalize(), customer=t(c[3]), article=c[4], qty=int(c[5]), price=num(c[6], True), amount=num(c[7], True), seller=t(c[8]).capitalize(), raw=c))
    A["Auftraege_2024.csv"] = rows
    # 4
    rows, group = [], None
    for c in cells("Stock list.xlsx")[5:]:
        if t(c[0]).startswith("Total"): break
        if c[0] and not c[1]: group = c[0]
        elif c[0]: rows.append(dict(no=int(c[0]), name=t(c[1]), group=group, place=c[2], stock=num(c[3]), minimum=num(c[4]), on_order=num(c[5]) or 0, cost=num(c[6]), sale=num(c[7]), supplier=t(c[8]).title(), raw=c))
    A["Stock list.xlsx"] = rows
    # 5
    staff, left, part = [], [], 0
    for c in cells("Staff list 2025.xlsx")[4:]:
        if t(c[0]) == "Left in 2024": part = 1
        if isinstance(c[0], int):
            if not part:
                f = c[7] if isinstance(c[7], float) or isinstance(c[7], int) else num(c[7]) / 100
                d = t(c[3]); d = d.upper() if d.lower() in ("it", "hr") else d.capitalize()
                staff.append(dict(surname=c[1], first=t(c[2]), dept=d, post=c[4], start=date(c[5]), hours=num(c[6]), fte=round(f * 100), site=t(c[8]), raw=c))
            else: left.append(dict(surname=c[1], first=c[2], dept=t(c[3]), left=date(c[4])))
    A["Staff list 2025.xlsx"] = dict(staff=staff, left=left)
    # 6
    rows = []
    for c in cells("Invoices 2025.xlsx")[4:]:
        if t(c[0]).startswith("RE-"): rows.append(dict(no=c[0], customer=t(c[1]), issued=date(c[2]), due=date(c[3]), net=num(c[4]), vat=round(c[5] * 100), gross=num(c[6]), cur=t(c[7]).upper(), state=t(c[8]).lower(), paid_on=date(c[9]), raw=c))
    names = {}
    for e in rows: names.setdefault(e["customer"].lower(), set()).add(e["customer"])
    for e in rows: e["customer"] = max(names[e["customer"].lower()], key=lambda s: sum(ch.isupper() for ch in s))
    A["Invoices 2025.xlsx"] = rows
    # 7
    rows = []
    for c in cells("Cuotas socios 2025.xlsx")[4:]:
        if c[0] and t(c[0]).isdigit():
            p = t(c[5]).lower()
            rows.append(dict(no=int(c[0]), name=t(c[1]), cat=t(c[2]).capitalize(), joined=date(c[3]), fee=num(c[4], True), paid={"sí": "sí", "si": "sí", "no": "no", "n/a": None}[p], method=t(c[6]).capitalize() or None, paid_on=date(c[7]), raw=c))
    A["Cuotas socios 2025.xlsx"] = rows
    # 8
    rows = []
    for c in csv.reader(io.StringIO((DOCS / "BIO101 marks.tsv").read_text(encoding="utf-8")), delimiter="\t"):
        if c and c[0].isdigit(): rows.append(dict(rank=int(c[0]), name=t(c[1]), id=c[2], group=t(c[3]).upper(), q1=num(c[4]), q2=num(c[5]), lab=num(c[6]), mid=num(c[7]), final=num(c[8]), total=num(c[9]), grade=t(c[10]), raw=c))
    A["BIO101 marks.tsv"] = rows
    # 9
    rows = []
    for c in cells("Van log 2025.xlsx")[4:]:
        if c[1]: rows.append(dict(date=date(c[0]), driver=t(c[1]).capitalize(), to=t(c[2]), start=num(c[3]), end=num(c[4]), km=num(c[5]), litres=num(c[6].replace(",", ".") if isinstance(c[6], str) else c[6]), cost=num(c[7]), raw=c))
    A["Van log 2025.xlsx"] = rows
    # 10
    A["P&L 2021-2024.xlsx"] = {t(c[0]): [num(v) or 0 for v in c[1:5]] for c in cells("P&L 2021-2024.xlsx")[5:] if c[0] and len([v for v in c[1:5] if v is not None]) == 4}
    # 11
    rows = []
    for c in list(csv.reader(io.StringIO((DOCS / "registrations_summer_school.csv").read_bytes().decode("utf-8-sig"))))[1:]:
        if not c[0]: continue
        for f in ("%Y-%m-%d %H:%M", "%d.%m.%Y %H:%M"):
            try: when = dt.datetime.strptime(c[0], f)
            except ValueError: pass
        diet = t(c[8]).lower()
        rows.append(dict(time=when, first=t(c[1]), last=c[2], ticket=t(c[4]).capitalize(), price=num(c[5]), paid=t(c[6]).lower(), workshop=t(c[7]).capitalize(), diet="none" if diet in ("", "none", "n/a", "-") else diet, shirt=c[9].upper(), country=t(c[10]).capitalize(), raw=c))
    A["registrations_summer_school.csv"] = rows
    # 12
    rows, year = [], None
    for c in cells("Energy readings.xlsx")[4:]:
        s = t(c[0])
        if s.startswith("Year"): year = int(s[5:])
        elif c[1] is not None:
            if isinstance(c[0], dt.datetime): d = c[0]
            else:
                for f in ("%b %Y", "%m/%Y", "%B %Y", "%b %y"):
                    try: d = dt.datetime.strptime(s, f)
                    except ValueError: pass
            assert d.year == year
            rows.append(dict(year=year, month=d.month, el_reading=c[1], el=num(c[2]), gas_reading=num(c[3]), gas=num(c[4]), water=c[5], temp=num(c[6]), cost=num(c[7])))
    A["Energy readings.xlsx"] = rows
    check(A)
    return A


def check(A):
    """what is read from the files is what make_sheets.py meant"""
    def eq(a, b, where):
        if isinstance(a, dict):
            for k in b:
                eq(a[k], b[k], (where, k))
        elif isinstance(a, list):
            assert len(a) == len(b), (where, len(a), len(b))
            for i, (x, y) in enumerate(zip(a, b)): eq(x, y, (where, i))
        elif isinstance(b, (int, float)): assert a is not None and abs(a - b) < 1e-6, (where, a, b)
        elif b is None: assert a is None, (where, a)
        else: assert str(a) == b, (where, a, b)
    for k in TRUTH: eq(A[k], TRUTH[k], k)
    assert set(A) == set(TRUTH) and len(A) == 12


if __name__ == "__main__":
    load(); print("files = truth")
