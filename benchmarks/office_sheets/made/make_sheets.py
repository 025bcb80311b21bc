"""Writes the 12 sheets into documents/, the same bytes every time, and truth.json: what the rows mean, cleaned.

    .venv/bin/python make_sheets.py

All people, firms and places are made up. No formulas: as from a program that stores the values only.
"""
import csv, datetime as dt, io, json, random, re, zipfile
from pathlib import Path
from openpyxl import Workbook
from openpyxl.styles import Alignment, Font, PatternFill
from openpyxl.utils import get_column_letter

HERE = Path(__file__).parent.parent
DOCS = HERE / "documents"
DOCS.mkdir(exist_ok=True)
TRUTH = {}
BOLD = Font(bold=True)
D = dt.date


def save(wb, name):
    wb.properties.creator = "office"
    wb.properties.created = dt.datetime(2025, 1, 1)
    buffer = io.BytesIO()
    wb.save(buffer)
    with zipfile.ZipFile(buffer) as src, zipfile.ZipFile(DOCS / name, "w", zipfile.ZIP_DEFLATED) as dst:
        for item in src.infolist():
            data = src.read(item.filename)
            if item.filename == "docProps/core.xml":
                data = re.sub(rb"(<dcterms:modified[^>]*>)[^<]*", rb"\g<1>2025-01-01T00:00:00Z", data)
            info = zipfile.ZipInfo(item.filename, (2025, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            dst.writestr(info, data)


def truth(name, rows):
    TRUTH[name] = json.loads(json.dumps(rows, default=str))


def caps(rng, s, p=0.35):
    """paid, Paid, PAID, 'paid '"""
    if rng.random() > p:
        return s
    return rng.choice([s.lower(), s.upper(), s + " ", s.capitalize() + " ", s.capitalize()])


def blanks(rng, s, p=0.15):
    if rng.random() > p:
        return s
    return rng.choice([s + " ", s + "  ", " " + s, s.lower()])


def put_date(rng, cell, d, fmt="DD/MM/YYYY", p=0.2, texts=("%d.%m.%Y", "%Y-%m-%d", "%d %b %Y")):
    if rng.random() < p:
        cell.value = d.strftime(rng.choice(texts))
    else:
        cell.value = dt.datetime(d.year, d.month, d.day)
        cell.number_format = fmt


def put_num(rng, cell, x, fmt="#,##0.00", p=0.1, texts=("{:.2f}",)):
    if rng.random() < p:
        cell.value = rng.choice(texts).format(x)
    else:
        cell.value = x
        cell.number_format = fmt


def header(ws, row, names, start=1):
    for i, n in enumerate(names):
        c = ws.cell(row, start + i, n)
        c.font = BOLD
        c.fill = PatternFill("solid", fgColor="DDDDDD")
        c.alignment = Alignment(wrap_text=True)


def widths(ws, ws_widths):
    for i, w in enumerate(ws_widths, 1):
        ws.column_dimensions[get_column_letter(i)].width = w


# 1 ------------------------------------------------------------------ Expenses
def expenses():
    rng = random.Random("expenses-1")
    people = ["Priya Nair", "Tom Becker", "Aisha Cole", "Luis Ortega", "Marta Lind"]
    weights = [5, 4, 3, 3, 2]
    things = {
        "Travel": [("Train to Manchester", 38, 96), ("Taxi station - client", 9, 31), ("Parking", 4, 22),
                   ("Train to Bristol", 41, 88), ("Mileage", 12, 64)],
        "Meals": [("Lunch with client", 21, 74), ("Team breakfast", 18, 49), ("Dinner trade fair", 30, 92)],
        "Software": [("Font licence", 29, 129), ("Screen recorder, 1 year", 45, 60), ("Stock photos", 19, 79)],
        "Office supplies": [("Printer paper", 11, 32), ("Toner", 54, 98), ("Whiteboard pens", 6, 15), ("Desk lamp", 24, 46)],
        "Training": [("Online course", 59, 240), ("Book", 14, 42), ("First aid course", 85, 120)],
    }
    rows = []
    day = D(2025, 1, 3)
    while day <= D(2025, 3, 31):
        for _ in range(rng.choice([0, 1, 1, 1, 2]) if day.weekday() < 5 else 0):
            cat = rng.choices(list(things), [6, 4, 2, 4, 2])[0]
            what, lo, hi = rng.choice(things[cat])
            late = (day - D(2025, 1, 1)).days / 90
            rows.append(dict(date=day, who=rng.choices(people, weights)[0], what=what, category=cat,
                             amount=round(rng.uniform(lo, hi), 2),
                             status="unpaid" if rng.random() < 0.1 + 0.45 * late else "paid"))
        day += dt.timedelta(1)
    rng2 = random.Random("expenses-cut")
    while len(rows) > 66:
        rows.pop(rng2.randrange(len(rows)))
    rows.append(dict(date=D(2025, 2, 19), who="Aisha Cole", what="Hotel Leeds, 2 nights", category="Travel", amount=184.60, status="paid"))
    rows.append(dict(date=D(2025, 3, 6), who="Tom Becker", what="Repair of projector", category="Office supplies", amount=143.00, status="unpaid"))
    rows.sort(key=lambda r: r["date"])
    truth("Expenses Q1.xlsx", rows)

    wb = Workbook(); ws = wb.active; ws.title = "Q1"
    ws["A1"] = "Hollow Lane Studio - staff expenses, 1st quarter 2025"; ws["A1"].font = Font(bold=True, size=14)
    ws.merge_cells("A1:H1")
    ws["A2"] = "kept by Marta, last change 04/04/2025"
    header(ws, 4, ["Date", "Who ", "What for", "Category", "Amount (£)", "Status", "Receipt no.", "Remarks"])
    r, month = 5, 1
    for n, e in enumerate(rows):
        if e["date"].month != month:
            month = e["date"].month; r += 1                                    # an empty row before a month
        put_date(rng, ws.cell(r, 1), e["date"])
        ws.cell(r, 2, blanks(rng, e["who"]))
        ws.cell(r, 3, e["what"])
        ws.cell(r, 4, blanks(rng, e["category"], 0.12))
        put_num(rng, ws.cell(r, 5), e["amount"], p=0.12, texts=("{:.2f}", "£{:.2f}", "{:.2f} "))
        ws.cell(r, 6, caps(rng, e["status"], 0.45))
        ws.cell(r, 7, "n/a" if rng.random() < 0.1 else f"R{101 + n}")
        if rng.random() < 0.08:
            ws.cell(r, 8, rng.choice(["receipt missing", "split with Tide app", "ask Marta"]))
        r += 1
    r += 1
    ws.cell(r, 1, "TOTAL").font = BOLD
    ws.cell(r, 5, round(sum(e["amount"] for e in rows), 2)).font = BOLD
    ws.cell(r + 2, 1, "Mileage at 45p. Please hand in receipts by the 5th of the next month.")
    ws.cell(r + 3, 1, "Unpaid = not yet transferred to the employee.")
    widths(ws, [13, 16, 28, 16, 12, 10, 12, 20])
    wb.create_sheet("Sheet2")
    save(wb, "Expenses Q1.xlsx")


# 2 ------------------------------------------------------------------ Time sheet
def timesheet():
    rng = random.Random("time-3")
    allowed = {"Hannah Vogt": ["Harbour website", "Tide app", "Northgate audit", "Internal"],
               "Jonas Frey": ["Harbour website", "Tide app", "Internal"],
               "Mei Tanaka": ["Tide app", "Harbour website", "Internal"],
               "Oleksandr Hrytsenko": ["Tide app", "Northgate audit", "Internal"],
               "Ruth Adeyemi": ["Northgate audit", "Harbour website", "Internal"]}
    w = [6, 4, 5, 3, 4]
    days = [D(2024, 10, 1) + dt.timedelta(i) for i in range(81)]
    days = [d for d in days if d.weekday() < 5]
    rows = []
    for _ in range(214):
        name = rng.choices(list(allowed), w)[0]
        project = rng.choice(allowed[name])
        task = rng.choice(["Admin", "Meeting", "Training"] if project == "Internal" else ["Design", "Development", "Meeting", "Testing"])
        rows.append(dict(date=rng.choice(days), who=name, project=project, task=task, hours=rng.randint(2, 30) / 4,
                         billable="no" if project == "Internal" or rng.random() < 0.12 else "yes"))
    rows.sort(key=lambda r: (r["date"], r["who"]))
    for i in (23, 120, 187):
        rows[i].update(project="Internal", task="Admin", hours=None, billable="no")
    truth("Time sheet Oct-Dec.xlsx", rows)

    wb = Workbook(); ws = wb.active; ws.title = "Oct-Dec 24"
    ws["A1"] = "TIME SHEET  October - December 2024"; ws.merge_cells("A1:G1"); ws["A1"].alignment = Alignment(horizontal="center")
    ws["A2"] = "All teams. Hours in decimals (1.5 = one and a half hours)."; ws.merge_cells("A2:G2")
    header(ws, 3, ["Day", "Name", "Client / project", "Task", "Hrs", "Billable?", "Comment"])
    r = 4
    for i, e in enumerate(rows):
        put_date(rng, ws.cell(r, 1), e["date"], fmt="DD.MM.YY", p=0.12)
        ws.cell(r, 2, blanks(rng, e["who"], 0.1))
        ws.cell(r, 3, blanks(rng, e["project"], 0.15))
        ws.cell(r, 4, blanks(rng, e["task"], 0.1))
        if e["hours"] is None:
            ws.cell(r, 5, "n/a"); ws.cell(r, 7, "sick")
        else:
            put_num(rng, ws.cell(r, 5), e["hours"], fmt="0.00", p=0.07, texts=("{:.2f}", "{:.2f} h"))
        ws.cell(r, 6, rng.choice({"yes": ["yes", "yes", "Yes", "y", "Y ", "YES"], "no": ["no", "no", "No", "n", "No "]}[e["billable"]]))
        if rng.random() < 0.05 and e["hours"]:
            ws.cell(r, 7, rng.choice(["from home", "with client", "to be checked"]))
        if 90 <= i <= 96:
            ws.row_dimensions[r].hidden = True
        r += 1
    hidden = (4 + 90, 4 + 96)
    ws.cell(r, 1, "Sum").font = BOLD
    ws.cell(r, 5, sum(e["hours"] or 0 for e in rows)).font = BOLD
    ws.cell(r + 2, 1, f"Rows {hidden[0]}-{hidden[1]} are hidden for printing only, they do count.")
    ws.cell(r + 3, 1, "n/a = no hours (sick).")
    widths(ws, [12, 22, 20, 14, 8, 9, 18])
    save(wb, "Time sheet Oct-Dec.xlsx")


# 3 ------------------------------------------------------------------ Orders, German csv
def de(x):
    return f"{x:,.2f}".replace(",", "_").replace(".", ",").replace("_", ".")


def orders():
    rng = random.Random("orders-2")
    customers = {"Nord": ["Bäckerei Petersen", "Hafenkontor GmbH", "Möbel Jansen"],
                 "Süd": ["Alpenhof KG", "Schreinerei Huber", "Gasthof Krone", "Brauhaus Ammer"],
                 "West": ["Rheinbau AG", "Café Domblick", "Druckerei Klee"],
                 "Ost": ["Elbwerk GmbH", "Stadtgarten Leipzig"]}
    region_w = [9, 13, 10, 7]
    articles = {"Stuhl Linea": 89.90, "Tisch Forma 160": 449.00, "Tisch Forma 200": 529.00, "Regal Basis": 139.50,
                "Leuchte Punkt": 64.95, "Garderobe Ast": 119.00, "Hocker Mini": 39.90}
    rows = []
    days = [D(2024, 1, 2) + dt.timedelta(i) for i in range(363)]
    days = [d for d in days if d.weekday() < 6 and d != D(2024, 11, 15)]
    weights = [0.7 + 0.6 * d.month / 12 for d in days]
    picked = sorted(rng.choices(days, weights, k=400))
    for i, d in enumerate(picked):
        region = rng.choices(list(customers), region_w)[0]
        article = rng.choice(list(articles))
        qty = rng.choice([1, 2, 2, 3, 4, 4, 6, 8, 10, 12])
        price = articles[article]
        rows.append(dict(no=f"A-{24001 + i}", date=d, region=region, customer=rng.choice(customers[region]), article=article,
                         qty=qty, price=price, amount=round(qty * price, 2), seller=rng.choice(["Kühn", "Albers", "Yilmaz", "Sommer"])))
    truth("Auftraege_2024.csv", rows)
    out = io.StringIO()
    w = csv.writer(out, delimiter=";", lineterminator="\r\n")
    w.writerow(["Auswertung Aufträge 2024"] + [""] * 8)
    w.writerow(["Stand: 31.12.2024"] + [""] * 8)
    w.writerow([""] * 9)
    w.writerow(["Auftragsnr.", "Datum", "Region", "Kunde", "Artikel", "Menge", "Einzelpreis", "Betrag EUR", "Verkäufer"])
    for e in rows:
        date = e["date"].strftime("%d.%m.%Y") if rng.random() > 0.06 else e["date"].isoformat()
        region = e["region"]
        if rng.random() < 0.15:
            region = rng.choice([region.lower(), region.upper(), region + " "])
        w.writerow([e["no"], date, region, e["customer"] + (" " if rng.random() < 0.05 else ""), e["article"], e["qty"], de(e["price"]),
                    de(e["amount"]) + (" €" if rng.random() < 0.04 else ""), e["seller"] if rng.random() > 0.06 else e["seller"].upper()])
    w.writerow(["Summe", "", "", "", "", sum(e["qty"] for e in rows), "", de(sum(e["amount"] for e in rows)), ""])
    (DOCS / "Auftraege_2024.csv").write_bytes(out.getvalue().encode("cp1252"))


# 4 ------------------------------------------------------------------ Stock, two-deep header
def stock():
    rng = random.Random("stock-5")
    groups = {
        "Screws & bolts": [f"Wood screw {s}" for s in ("3x20", "3x30", "3.5x35", "4x40", "4x50", "5x60", "5x80", "6x100")]
        + [f"Machine screw {s}" for s in ("M3x10", "M4x12", "M4x20", "M5x16", "M5x30", "M6x20", "M6x40")]
        + [f"Carriage bolt {s}" for s in ("M6x60", "M8x80", "M8x120", "M10x100")],
        "Nuts & washers": [f"Hex nut {s}" for s in ("M3", "M4", "M5", "M6", "M8", "M10", "M12")]
        + [f"Washer {s}" for s in ("M4", "M5", "M6", "M8", "M10")] + ["Wing nut M6", "Cap nut M8"],
        "Tools": ["Claw hammer", "Rubber mallet", "Spirit level 60 cm", "Spirit level 100 cm", "Cordless drill", "Angle grinder",
                  "Jigsaw", "Tape measure 5 m", "Hand saw", "Pliers set", "Chisel set", "Utility knife", "Torque wrench"],
        "Paint": [f"Wall paint white {s}" for s in ("5 l", "10 l")] + ["Wood varnish clear", "Wood varnish oak", "Primer 2.5 l", "Brush 50 mm",
                  "Brush 70 mm", "Roller 25 cm", "Masking tape", "Dust sheet", "White spirit 1 l"],
        "Electrical": ["Cable 3x1.5 50 m", "Cable 3x2.5 50 m", "Socket single", "Socket double", "Light switch", "Junction box",
                       "Extension lead 5 m", "LED bulb 8 W", "LED bulb 12 W", "Fuse 16 A", "Cable ties 200 mm", "Work light"],
        "Safety": ["Work gloves M", "Work gloves L", "Work gloves XL", "Safety goggles", "Ear defenders", "Dust mask FFP2", "Helmet white",
                   "Helmet yellow", "First aid box", "Safety boots 43", "Hi-vis vest", "Knee pads"],
    }
    suppliers = {"Screws & bolts": ["Brandt Fixings", "Keller & Sons"], "Nuts & washers": ["Brandt Fixings", "Keller & Sons"],
                 "Tools": ["Toolhaus", "Keller & Sons"], "Paint": ["Colora"], "Electrical": ["Voltline", "Toolhaus"], "Safety": ["Voltline", "Colora"]}
    rows = []
    for g, names in groups.items():
        small = g in ("Screws & bolts", "Nuts & washers")
        for n in names:
            minimum = rng.choice([200, 300, 500, 800] if small else [3, 5, 8, 10, 15])
            qty = round(minimum * rng.uniform(0.45, 3.2))
            if qty == minimum:
                qty += 1
            cost = round(rng.uniform(0.02, 0.45), 2) if small else round(rng.uniform(1.5, 62), 2)
            rows.append(dict(no=None, name=n, group=g, place=f"{rng.choice('ABCD')}{rng.randint(1, 9)}", stock=qty, minimum=minimum,
                             on_order=rng.choice([0, 0, 0, minimum]) if qty > minimum else rng.choice([0, 2 * minimum]),
                             cost=cost, sale=round(cost * rng.uniform(1.4, 2.1), 2), supplier=rng.choice(suppliers[g])))
    by = {r["name"]: r for r in rows}
    for n in ("Hand saw", "Hex nut M12", "Socket double", "Dust mask FFP2"):
        by[n].update(stock=0)
    for n in ("Cordless drill",):
        by[n].update(cost=94.50, sale=149.90)
    by["Hex nut M8"].update(stock=1340, minimum=500, place="B4")
    for n in ("Rubber mallet", "Wing nut M6", "Dust sheet", "Knee pads"):
        by[n].update(minimum=None)
    for i, r in enumerate(rows):
        r["no"] = 1001 + i
    truth("Stock list.xlsx", rows)

    wb = Workbook(); ws = wb.active; ws.title = "Stock"
    ws["A1"] = "Stock list workshop"; ws["A1"].font = Font(bold=True, size=16)
    ws["A2"] = "counted 28 March 2025 / Gwen"
    top = ["Art. no.", "Article", "Shelf", "Quantity", None, None, "Price in €", None, "Supplier"]
    sub = [None, None, None, "in stock", "minimum", "on order", "purchase", "sale", None]
    header(ws, 4, top); header(ws, 5, sub)
    for m in ("A4:A5", "B4:B5", "C4:C5", "D4:F4", "G4:H4", "I4:I5"):
        ws.merge_cells(m)
    r, group = 6, None
    for e in rows:
        if e["group"] != group:
            if group: r += 1
            group = e["group"]
            ws.cell(r, 1, group).font = Font(italic=True, bold=True); r += 1
        ws.cell(r, 1, e["no"] if rng.random() > 0.1 else str(e["no"]))
        ws.cell(r, 2, e["name"] + (" " if rng.random() < 0.1 else ""))
        ws.cell(r, 3, e["place"])
        for c, k in ((4, "stock"), (5, "minimum"), (6, "on_order")):
            v = e[k]
            if v is None: ws.cell(r, c, "n/a")
            elif k == "on_order" and v == 0:
                if rng.random() < 0.3: ws.cell(r, c, "-")
            else: put_num(rng, ws.cell(r, c), v, fmt="0", p=0.12, texts=("{}", "{} "))
        put_num(rng, ws.cell(r, 7), e["cost"], p=0.06, texts=("{:.2f}",))
        put_num(rng, ws.cell(r, 8), e["sale"], p=0.06, texts=("{:.2f}", "{:.2f} €"))
        ws.cell(r, 9, blanks(rng, e["supplier"], 0.15))
        r += 1
    ws.cell(r + 1, 1, "Total pieces").font = BOLD
    ws.cell(r + 1, 4, sum(e["stock"] for e in rows)).font = BOLD
    ws.cell(r + 3, 1, "n/a = no minimum fixed. Prices without VAT.")
    widths(ws, [10, 24, 8, 10, 10, 10, 10, 10, 18])
    save(wb, "Stock list.xlsx")


# 5 ------------------------------------------------------------------ Staff, two tables
def staff():
    rng = random.Random("staff-8")
    names = """Abbott Claire;Achterberg Niels;Bianchi Paola;Bjork Sven;Castell Ramon;Dhillon Harpreet;Dunmore Kit;Egger Lukas;Farouk Samira;
Fitzroy Nell;Galanis Eleni;Gupta Rohan;Haas Birgit;Hemsworth Dale;Ibarra Sofia;Jankowski Piotr;Kamau Wanjiru;Kerr Fiona;Kowalczyk Ewa;
Laurent Denis;Lindqvist Maja;MacNeil Rory;Mbeki Thandi;Moreau Sylvie;Nakagawa Ken;Novak Petra;Obi Chidi;Okafor Ngozi;Pereira Duarte;
Quigley Sean;Rasmussen Kaja;Romero Ines;Sadowski Adam;Solheim Ingrid;Sutcliffe Joan;Tamm Kristjan;Toth Gabor;Umarov Rustam;Vance Holly;
Varga Zsofia;Weatherby Miles;Winther Asta;Yusuf Leyla;Zimmer Konrad""".replace("\n", "").split(";")
    posts = {"Sales": ["Sales rep", "Key account manager", "Sales assistant"], "IT": ["Developer", "System administrator", "Support"],
             "Marketing": ["Content editor", "Designer"], "Warehouse": ["Picker", "Forklift driver", "Shift lead"], "Finance": ["Accountant", "Payroll clerk"],
             "HR": ["HR advisor", "Recruiter"]}
    rows = []
    used = set()
    for n in names:
        sur, first = n.split(" ", 1)
        dept = rng.choices(list(posts), [10, 8, 6, 11, 5, 3])[0]
        while True:
            start = D(rng.randint(2009, 2024), rng.randint(1, 12), rng.choice([1, 1, 1, 15]))
            if start not in used: break
        used.add(start)
        fte = rng.choice([100, 100, 100, 100, 80, 60, 50, 75])
        rows.append(dict(surname=sur, first=first, dept=dept, post=rng.choice(posts[dept]), start=start, hours=40 * fte / 100, fte=fte,
                         site=rng.choice(["Ashford", "Ashford", "Dover"])))
    by = {r["surname"]: r for r in rows}
    by["Quigley"].update(start=D(2006, 5, 15))
    by["Solheim"].update(dept="Finance", post="Head of Controlling", fte=80, hours=32.0)
    left = [dict(surname="Reis", first="Paulo", dept="Warehouse", left=D(2024, 2, 29)), dict(surname="Ashby", first="Gemma", dept="Sales", left=D(2024, 4, 30)),
            dict(surname="Okoro", first="Ify", dept="Sales", left=D(2024, 6, 15)), dict(surname="Thorne", first="Vincent", dept="IT", left=D(2024, 9, 30)),
            dict(surname="Delgado", first="Marisol", dept="Marketing", left=D(2024, 11, 30)), dict(surname="Pohl", first="Anke", dept="Warehouse", left=D(2024, 12, 31))]
    truth("Staff list 2025.xlsx", dict(staff=rows, left=left))
    wb = Workbook(); ws = wb.active; ws.title = "Staff"
    ws["A1"] = "Staff list - Marlow & Finch Ltd"; ws.merge_cells("A1:I1")
    ws["A2"] = "as at 1 January 2025 - confidential"
    header(ws, 4, ["No", "Surname", "First name", "Dept.", "Position", "Start", "Hours / week", "FTE", "Site"])
    r = 5
    for i, e in enumerate(rows):
        if i in (15, 30): r += 1
        ws.cell(r, 1, i + 1); ws.cell(r, 2, e["surname"]); ws.cell(r, 3, e["first"] + (" " if rng.random() < 0.1 else ""))
        ws.cell(r, 4, caps(rng, e["dept"], 0.3) if e["dept"] not in ("IT", "HR") else rng.choice([e["dept"], e["dept"], e["dept"] + " ", e["dept"].lower()]))
        ws.cell(r, 5, e["post"])
        put_date(rng, ws.cell(r, 6), e["start"], p=0.3)
        put_num(rng, ws.cell(r, 7), e["hours"], fmt="0.0", p=0.12, texts=("{:.0f}", "{:.0f} h"))
        c = ws.cell(r, 8, e["fte"] / 100); c.number_format = "0%"
        if rng.random() < 0.12: c.value = f"{e['fte']}%"
        ws.cell(r, 9, e["site"] + (" " if rng.random() < 0.1 else ""))
        r += 1
    r += 2
    ws.cell(r, 1, "Left in 2024").font = BOLD
    header(ws, r + 1, ["No", "Surname", "First name", "Dept.", "Last day"])
    for i, e in enumerate(left):
        ws.cell(r + 2 + i, 1, i + 1); ws.cell(r + 2 + i, 2, e["surname"]); ws.cell(r + 2 + i, 3, e["first"]); ws.cell(r + 2 + i, 4, e["dept"] + (" " if i == 2 else ""))
        put_date(rng, ws.cell(r + 2 + i, 5), e["left"], p=0.4)
    ws.cell(r + 10, 1, "FTE = share of a full week of 40 hours")
    widths(ws, [6, 16, 14, 12, 22, 13, 9, 8, 10])
    save(wb, "Staff list 2025.xlsx")


# 6 ------------------------------------------------------------------ Invoices
def invoices():
    rng = random.Random("invoices-4")
    customers = {"Oberland Hotels": "EUR", "Praxis Dr. Wendt": "EUR", "Maison Verre": "EUR", "Studio Polder": "EUR", "Caldera SL": "EUR", "Fjordkraft Design": "EUR",
                 "Bluff City Coffee": "USD", "Prairie Labs Inc.": "USD", "Tidewater Museum": "USD"}
    w = [5, 3, 5, 4, 3, 2, 4, 4, 3]
    day = D(2025, 1, 7)
    rows = []
    for i in range(98):
        c = rng.choices(list(customers), w)[0]
        net = float(rng.choice([180, 240, 320.5, 450, 615, 780, 960, 1250, 1480, 1875.4, 2300, 3150]) + rng.randint(0, 40))
        cur = customers[c]; vat = 19 if cur == "EUR" else 0
        due = day + dt.timedelta(rng.choice([14, 30, 30]))
        p_open = 0.08 if due < D(2025, 5, 1) else 0.55
        state = rng.choices(["cancelled", "open", "paid"], [0.06, p_open, 0.94 - p_open])[0]
        rows.append(dict(no=f"RE-2025-{i + 1:03d}", customer=c, issued=day, due=due, net=net, vat=vat, gross=round(net * (1 + vat / 100) + 1e-9, 2), cur=cur, state=state,
                         paid_on=due + dt.timedelta(rng.randint(-9, 6)) if state == "paid" else None))
        day += dt.timedelta(rng.choice([0, 1, 2, 2, 3]))
    truth("Invoices 2025.xlsx", rows)
    wb = Workbook(); ws = wb.active; ws.title = "outgoing"
    ws["A1"] = "Outgoing invoices 2025"; ws["A1"].font = BOLD
    ws["A2"] = "Kiln & Paper GmbH"; ws["F2"] = "as of 30 June 2025"
    header(ws, 4, ["Invoice", "Customer", "Issued", "Due", "Net", "VAT", "Gross", "Cur.", "State", "Paid on"])
    r = 5
    for e in rows:
        ws.cell(r, 1, e["no"]); ws.cell(r, 2, blanks(rng, e["customer"], 0.08))
        put_date(rng, ws.cell(r, 3), e["issued"], fmt="DD.MM.YYYY", p=0.1); put_date(rng, ws.cell(r, 4), e["due"], fmt="DD.MM.YYYY", p=0.15)
        put_num(rng, ws.cell(r, 5), e["net"], p=0.05); c = ws.cell(r, 6, e["vat"] / 100); c.number_format = "0%"
        put_num(rng, ws.cell(r, 7), e["gross"], p=0.08, texts=("{:.2f}", "{:,.2f}"))
        ws.cell(r, 8, rng.choice([e["cur"]] * 6 + [e["cur"].lower(), e["cur"] + " "])); ws.cell(r, 9, caps(rng, e["state"], 0.4))
        if e["paid_on"]: put_date(rng, ws.cell(r, 10), e["paid_on"], fmt="DD.MM.YYYY", p=0.15)
        elif rng.random() < 0.5: ws.cell(r, 10, "n/a" if e["state"] == "cancelled" else "-")
        r += 1
        if e["no"][-3:] in ("035", "070"): r += 1
    for k, cur in enumerate(("EUR", "USD")):
        ws.cell(r + 1 + k, 1, f"Total {cur}").font = BOLD
        ws.cell(r + 1 + k, 5, round(sum(e["net"] for e in rows if e["cur"] == cur), 2))
        ws.cell(r + 1 + k, 7, round(sum(e["gross"] for e in rows if e["cur"] == cur), 2))
        ws.cell(r + 1 + k, 8, cur)
    ws.cell(r + 4, 1, "Totals hold all states. Customers in the US: no VAT.")
    widths(ws, [14, 20, 12, 12, 11, 7, 11, 6, 11, 12])
    save(wb, "Invoices 2025.xlsx")


# 7 ------------------------------------------------------------------ Club fees, Spanish
def club():
    rng = random.Random("club-39")
    first = "Lucía Mateo Carmen Javier Nerea Iker Rosa Pablo Elena Tomás Alba Diego Marina Hugo Pilar Sergio Irene Andrés Celia Óscar".split()
    last = "Fernández Gil Ruiz Marín Soler Vidal Campos Ibáñez Prieto Lozano Cano Mora Pascual Rivas Nieto Serra Bravo Crespo".split()
    fees = {"Adulto": 60.0, "Juvenil": 30.0, "Familiar": 95.0, "Honor": 0.0}
    names = {"Lucía Fernández Soler"}
    rows = [dict(name="Lucía Fernández Soler", cat="Familiar")]
    while len(rows) < 72:
        n = f"{rng.choice(first)} {rng.choice(last)} {rng.choice(last)}"
        if n in names or n.startswith("Lucía Fern"): continue
        names.add(n)
        rows.append(dict(name=n, cat=rng.choices(list(fees), [12, 6, 5, 1.2])[0]))
    used = set()
    for i, e in enumerate(rows):
        while True:
            d = D(rng.randint(2001, 2025), rng.randint(1, 9), rng.randint(1, 28))
            if e["cat"] == "Juvenil" and d.year < 2015: continue
            if d.year == 2025 and d.month > 2: continue
            if d not in used: break
        used.add(d)
        paid = None if e["cat"] == "Honor" else ("sí" if rng.random() < 0.72 else "no")
        e.update(no=i + 1, joined=d, fee=fees[e["cat"]], paid=paid,
                 method=rng.choices(["Transferencia", "Domiciliación", "Efectivo", "Bizum"], [4, 4, 2, 3])[0] if paid == "sí" else None,
                 paid_on=D(2025, rng.randint(1, 4), rng.randint(1, 28)) if paid == "sí" else None)
    truth("Cuotas socios 2025.xlsx", rows)
    wb = Workbook(); ws = wb.active; ws.title = "Cuotas"
    ws["A1"] = "CLUB DE REMO LA RIBERA"; ws["A1"].font = Font(bold=True, size=14); ws.merge_cells("A1:H1")
    ws["A2"] = "Cuotas de socios, temporada 2025"; ws.merge_cells("A2:H2")
    header(ws, 4, ["Nº", "Socio/a", "Categoría", "Fecha de alta", "Cuota anual", "Pagado", "Forma de pago", "Fecha de pago"])
    r = 5
    for e in rows:
        ws.cell(r, 1, e["no"] if rng.random() > 0.1 else str(e["no"])); ws.cell(r, 2, e["name"] + (" " if rng.random() < 0.12 else ""))
        ws.cell(r, 3, blanks(rng, e["cat"], 0.25))
        put_date(rng, ws.cell(r, 4), e["joined"], p=0.2, texts=("%d.%m.%Y", "%Y-%m-%d"))
        if rng.random() < 0.12: ws.cell(r, 5, de(e["fee"]) + " €")
        else:
            c = ws.cell(r, 5, e["fee"]); c.number_format = '#,##0.00 "€"'
        ws.cell(r, 6, "n/a" if e["paid"] is None else rng.choice({"sí": ["sí", "sí", "Sí", "Sí ", "SI", "si"], "no": ["no", "No", "NO", "no "]}[e["paid"]]))
        if e["method"]:
            ws.cell(r, 7, blanks(rng, e["method"], 0.25)); put_date(rng, ws.cell(r, 8), e["paid_on"], p=0.1, texts=("%d.%m.%Y", "%Y-%m-%d"))
        r += 1
        if e["no"] == 40: r += 1
    ws.cell(r, 2, "TOTAL CUOTAS").font = BOLD; ws.cell(r, 5, sum(e["fee"] for e in rows)).font = BOLD
    ws.cell(r + 2, 1, "Los socios de honor no pagan cuota. Fecha límite de pago: 30 de abril.")
    widths(ws, [6, 28, 12, 13, 12, 9, 16, 13])
    save(wb, "Cuotas socios 2025.xlsx")


# 8 ------------------------------------------------------------------ Marks, tsv
def marks():
    rng = random.Random("marks-23")
    names = """Noor Haddad;Callum Reid;Beatriz Lopes;Jun Park;Freya Olsen;Samuel Osei;Anneke Visser;Tariq Aziz;Molly Shaw;Goran Petrov;Isla Munro;Femi Balogun;Chloe Martin;
Dmitri Volkov;Yara Costa;Ewan Blair;Hana Sato;Marco Conti;Leila Rahimi;Oscar Lund;Grace Muller;Kofi Mensah;Ana Sousa;Victor Dahl;Zoe Carter;Rajan Iyer;Matilda Berg;Liam Keane;
Sana Malik;Theo Laurent;Petra Horak;Ben Archer;Amara Eze;Nico Rossi;Ella Frost;Hugo Blanc;Mira Joshi;Sean Doyle;Tuva Strand;Ali Karimi;Rosa Vega;Jonah Price;Kiki Mori;Stefan Bauer;Nadia Petit;Owen Hart""".replace("\n", "").split(";")
    rows = []; seen = set()
    for i, n in enumerate(names):
        while True:
            a = rng.gauss(0.68, 0.15)
            m = lambda mx, step: max(0, min(mx, round(mx * rng.gauss(a, 0.08) / step) * step))
            e = dict(name=n, id=f"S{4100 + i * 7}", group="ABC"[i % 3], q1=m(20, 0.5), q2=m(20, 0.5), lab=m(40, 1), mid=m(60, 1), final=m(100, 1))
            if rng.random() < 0.06: e["q1"] = None
            if rng.random() < 0.05: e["q2"] = None
            if rng.random() < 0.08: e["mid"] = None
            if n in ("Goran Petrov", "Ella Frost", "Stefan Bauer", "Yara Costa"): e["final"] = None
            g = lambda k: e[k] or 0
            t = round(100 * (0.05 * g("q1") / 20 + 0.05 * g("q2") / 20 + 0.2 * g("lab") / 40 + 0.25 * g("mid") / 60 + 0.45 * g("final") / 100) + 1e-9, 1)
            if t not in seen and t > 5 and t not in (50, 60, 70, 80, 75): break
        seen.add(t); e["total"] = t
        e["grade"] = "A" if t >= 80 else "B" if t >= 70 else "C" if t >= 60 else "D" if t >= 50 else "F"
        rows.append(e)
    for k, e in enumerate(sorted(rows, key=lambda e: -e["total"]), 1): e["rank"] = k
    rows.sort(key=lambda e: e["name"].split()[-1])
    truth("BIO101 marks.tsv", rows)
    out = io.StringIO(); w = csv.writer(out, delimiter="\t", lineterminator="\n")
    w.writerow(["BIO 101 Introduction to Biology - marks, spring term 2025"]); w.writerow([])
    w.writerow(["Rank", "Student", "Student ID", "Group", "Quiz 1 (max 20)", "Quiz 2 (max 20)", "Lab report (40)", "Midterm (60)", "Final exam (100)", "Total", "Grade"])
    num = lambda v, no: no if v is None else f"{v:g}"
    for e in rows:
        w.writerow([e["rank"], e["name"] + (" " if rng.random() < 0.1 else ""), e["id"], rng.choice([e["group"]] * 5 + [e["group"].lower(), e["group"] + " "]),
                    num(e["q1"], "n/a"), num(e["q2"], "n/a"), num(e["lab"], ""), num(e["mid"], rng.choice(["abs", "n/a"])), num(e["final"], rng.choice(["abs", "Abs "])),
                    f"{e['total']}%" if rng.random() > 0.15 else f"{e['total']} %", e["grade"] + (" " if rng.random() < 0.08 else "")])
    avg = lambda k: f"{sum(e[k] for e in rows if e[k] is not None) / len([e for e in rows if e[k] is not None]):.1f}"
    w.writerow([]); w.writerow(["", "Average", "", "", avg("q1"), avg("q2"), avg("lab"), avg("mid"), avg("final"), avg("total") + "%", ""])
    w.writerow(["abs = absent, n/a = not handed in; both count as 0 in the total and are left out of the averages"])
    w.writerow(["Pass mark: 50%"])
    (DOCS / "BIO101 marks.tsv").write_text(out.getvalue(), encoding="utf-8")


# 9 ------------------------------------------------------------------ Van log, with subtotals of months
def van():
    rng = random.Random("van-12")
    drivers = ["Erik", "Sonja", "Mahmoud", "Lena"]; towns = {"Bremen": 62, "Oldenburg": 48, "Leer": 55, "Emden": 81, "Aurich": 70, "Cuxhaven": 104, "Papenburg": 39}
    km = 84212; rows = []; since = 0
    days = [D(2025, 2, 3) + dt.timedelta(i) for i in range(87)]; days = [d for d in days if d.weekday() < 6]
    for d in sorted(rng.choices(days, k=126)):
        dr = rng.choices(drivers, [5, 4, 3, 2])[0]
        to = rng.choice([t for t in towns if not (dr == "Lena" and t in ("Bremen", "Emden")) and not (dr == "Mahmoud" and t == "Bremen")])
        dist = 2 * towns[to] + rng.randint(-6, 18); since += dist; litres = None; cost = None
        if since > 480:
            litres = round(since * rng.uniform(0.082, 0.098), 2); cost = round(litres * rng.uniform(1.559, 1.719), 2); since = 0
        rows.append(dict(date=d, driver=dr, to=to, start=km, end=km + dist, km=dist, litres=litres, cost=cost)); km += dist
    # one trip that is the longest
    j = 57; extra = 311 - rows[j]["km"]; rows[j].update(to="Hamburg", driver="Mahmoud", km=311, end=rows[j]["end"] + extra)
    for e in rows[j + 1:]: e["start"] += extra; e["end"] += extra
    truth("Van log 2025.xlsx", rows)
    wb = Workbook(); ws = wb.active; ws.title = "LER-KP 118"
    ws["A1"] = "Vehicle log  VW Transporter  LER-KP 118"; ws.merge_cells("A1:I1"); ws["A1"].font = BOLD
    ws["A2"] = "Depot: Leer-Nord. Every trip starts and ends at the depot."
    header(ws, 4, ["Date", "Driver", "Destination", "Odometer out", "Odometer in", "km", "Litres", "Fuel €", "Remarks"])
    r = 5
    def total(label, part):
        nonlocal r
        ws.cell(r, 1, label).font = BOLD; ws.cell(r, 6, sum(e["km"] for e in part))
        ws.cell(r, 7, round(sum(e["litres"] or 0 for e in part), 2)); ws.cell(r, 8, round(sum(e["cost"] or 0 for e in part), 2)); r += 1
    for m, name in ((2, "February"), (3, "March"), (4, "April")):
        part = [e for e in rows if e["date"].month == m]
        for e in part:
            put_date(rng, ws.cell(r, 1), e["date"], fmt="DD.MM.", p=0.1); ws.cell(r, 2, blanks(rng, e["driver"], 0.2)); ws.cell(r, 3, e["to"] + (" " if rng.random() < 0.07 else ""))
            ws.cell(r, 4, e["start"]); 
            if rng.random() < 0.08: ws.cell(r, 5, f"{e['end']} km")
            else: ws.cell(r, 5, e["end"])
            put_num(rng, ws.cell(r, 6), e["km"], fmt="0", p=0.06, texts=("{}", "{} km"))
            if e["litres"]:
                if rng.random() < 0.15: ws.cell(r, 7, f"{e['litres']:.2f}".replace(".", ","))
                else: ws.cell(r, 7, e["litres"])
                put_num(rng, ws.cell(r, 8), e["cost"], p=0.1)
            if rng.random() < 0.05: ws.cell(r, 9, rng.choice(["motorway closed", "car wash", "tyre pressure checked"]))
            r += 1
        total(f"Total {name}", part); r += 1
    total("Grand total", rows)
    ws.cell(r + 1, 1, "Next inspection at 120,000 km.")
    widths(ws, [12, 12, 14, 12, 12, 8, 9, 10, 22]); save(wb, "Van log 2025.xlsx")


# 10 ----------------------------------------------------------------- Profit and loss
PNL = [("Product sales", [812400, 874150, 798300, 951720]), ("Services", [143600, 151280, 189940, 204310]), ("Other income", [12500, 9870, 21460, 8045]), ("Total revenue", None),
       ("Cost of materials", [-402310, -461900, -431775, -470260]), ("Personnel", [-351200, -389640, -402150, -428900]), ("Rent", [-48000, -48000, -51600, -51600]),
       ("Marketing", [-27350, -61420, -39880, -44215]), ("Depreciation", [-31000, -33500, -36250, -35100]), ("Other operating costs", [-52140, -58775, -61930, -64480]), ("Total costs", None),
       ("Operating result", None), ("Interest", [-9800, -11450, -14220, -12960]), ("Taxes", [-14100, 0, 0, -16850]), ("Net result", None)]


def pnl():
    lines = {k: v for k, v in PNL if v}
    s = lambda ks: [sum(lines[k][i] for k in ks) for i in range(4)]
    lines["Total revenue"] = s(["Product sales", "Services", "Other income"])
    lines["Total costs"] = s(["Cost of materials", "Personnel", "Rent", "Marketing", "Depreciation", "Other operating costs"])
    lines["Operating result"] = s(["Total revenue", "Total costs"]); lines["Net result"] = s(["Operating result", "Interest", "Taxes"])
    truth("P&L 2021-2024.xlsx", {k: lines[k] for k, _ in PNL})
    wb = Workbook(); ws = wb.active; ws.title = "P&L"
    ws["A1"] = "Profit and loss statement"; ws["A1"].font = Font(bold=True, size=14); ws["A2"] = "Brightwater Ceramics Ltd, amounts in EUR"
    ws["B4"] = "Financial year"; ws.merge_cells("B4:E4"); ws["B4"].alignment = Alignment(horizontal="center")
    header(ws, 5, ["", 2021, 2022, "2023", 2024, "Change 23/24"])
    r = 6
    for k, _ in PNL:
        bold = k.startswith("Total") or k.endswith("result")
        ws.cell(r, 1, k if bold else "  " + k).font = Font(bold=bold)
        for i, v in enumerate(lines[k]):
            c = ws.cell(r, 2 + i)
            if v == 0: c.value = "-"
            elif v < 0 and (i == 1 or k in ("Net result", "Marketing")): c.value = f"({-v:,})"
            else: c.value = v; c.number_format = "#,##0;(#,##0)"
        a, b = lines[k][2], lines[k][3]
        if a and b and (a > 0) == (b > 0):
            c = ws.cell(r, 6, round(b / a - 1, 3)); c.number_format = "0.0%"
        else: ws.cell(r, 6, "n/a")
        r += 2 if bold else 1
    ws.cell(r + 1, 1, "Brackets = negative. 2024 not yet audited.")
    widths(ws, [26, 13, 13, 13, 13, 13]); save(wb, "P&L 2021-2024.xlsx")


# 11 ----------------------------------------------------------------- Registrations, csv
def registrations():
    rng = random.Random("reg-7")
    first = "Ada Bruno Clara Dario Emil Fatima Gina Henrik Ida Jakub Katja Leo Marie Nils Olga Paul Quentin Rita Stella Timo Ulla Viktor Wanda Xenia Yves Zara".split()
    last = "Albrecht Baum Caruso Dietz Engel Falk Gomez Hansen Imhof Jensen Kaiser Lang Moser Neumann Olivier Peters Richter Schmid Torres Urban Vogel Wagner Weiss Ziegler Dubois Martinez Kovacs Nowak Lemaire Fontana".split()
    special = [("Joana", "Ferreira", "Portugal"), ("Rui", "Tavares", "Portugal"), ("Beatriz", "Moura", "Portugal"), ("Nuno", "Salgado", "Portugal"), ("Sigrun", "Jonsdottir", "Iceland"),
               ("Kwame", "Asante", "Ghana"), ("Tiago", "Bastos", "Portugal")]
    price = {"Early bird": 90.0, "Regular": 120.0, "Student": 45.0}
    people = [(f, l, None) for f in first for l in last]; rng.shuffle(people)
    people = people[:153] + special; rng.shuffle(people)
    stamps = set()
    while len(stamps) < 160: stamps.add(dt.datetime(2025, 4, 1) + dt.timedelta(minutes=rng.randint(480, 105000)))
    rows = []
    for (f, l, c), t in zip(people, sorted(stamps)):
        ticket = rng.choices(["Early bird", "Regular", "Student"], [6, 1, 4] if t < dt.datetime(2025, 5, 1) else [0, 6, 4])[0]
        rows.append(dict(time=t, first=f, last=l, ticket=ticket, price=price[ticket], paid=rng.choices(["yes", "no", "refunded"], [78, 17, 5])[0],
                         workshop=rng.choices(["Bookbinding", "Letterpress", "Screen printing", "Paper making"], [4, 7, 5, 3])[0],
                         diet=rng.choices(["none", "vegetarian", "vegan", "gluten-free"], [9, 5, 3, 1])[0], shirt=rng.choice(["S", "M", "M", "L", "XL"]),
                         country=c or rng.choices(["Germany", "France", "Austria", "Spain", "Poland"], [9, 4, 3, 2, 2])[0]))
    truth("registrations_summer_school.csv", rows)
    out = io.StringIO(); w = csv.writer(out, lineterminator="\r\n")
    w.writerow(["Timestamp", "First name", "Last name", "E-mail", "Ticket type", "Fee", "Paid?", "Workshop choice", "Dietary needs", "T-shirt", "Country ", "Anything else?"])
    for i, e in enumerate(rows):
        diet = {"none": rng.choice(["", "none", "None", "n/a", "-"])}.get(e["diet"]) 
        if diet is None: diet = caps(rng, e["diet"], 0.45)
        stamp = e["time"].strftime("%Y-%m-%d %H:%M") if rng.random() > 0.1 else e["time"].strftime("%d.%m.%Y %H:%M")
        w.writerow([stamp, e["first"] + (" " if rng.random() < 0.08 else ""), e["last"], f"{e['first']}.{e['last']}@example.org".lower(), caps(rng, e["ticket"], 0.25),
                    f"€{e['price']:.2f}" if rng.random() > 0.15 else rng.choice([f"{e['price']:.2f}", f"{e['price']:.0f} EUR"]), caps(rng, e["paid"], 0.4), blanks(rng, e["workshop"], 0.2), diet,
                    rng.choice([e["shirt"]] * 5 + [e["shirt"].lower()]), caps(rng, e["country"], 0.15), rng.choice([""] * 9 + ["Looking forward, see you!", "late arrival, train at 9", 'called "Wolf" by all']) ])
        if i in (70, 131): w.writerow([""] * 12)
    (DOCS / "registrations_summer_school.csv").write_bytes(out.getvalue().encode("utf-8-sig"))


# 12 ----------------------------------------------------------------- Energy
def energy():
    import math
    rng = random.Random("energy-5"); rows = []; el, gas = 20417, 8831
    base_t = [1.8, 2.4, 5.6, 9.4, 13.9, 17.2, 19.3, 18.8, 14.7, 10.2, 5.5, 2.6]
    for y in (2022, 2023, 2024):
        for m in range(1, 13):
            t = round(base_t[m - 1] + rng.uniform(-2.2, 1.8), 1)
            if (y, m) == (2024, 1): t = -1.7
            e = round(620 + 25 * (12 - t) * 0.6 + rng.uniform(-60, 60) - 40 * (y - 2022)); g = max(4, round(26 * max(0, 16 - t) + rng.uniform(0, 18)))
            el += e; gas += g; w = round(rng.uniform(11, 19), 1)
            if (y, m) == (2023, 8): g = None; gas_r = None; gas = 3      # the new meter begins anew, so August cannot be worked out
            else: gas_r = gas
            rows.append(dict(year=y, month=m, el_reading=el, el=e, gas_reading=gas_r, gas=g, water=w, temp=t, cost=round(e * 0.31 + (g or 0) * 0.98 + w * 4.4, 2)))
    truth("Energy readings.xlsx", rows)
    wb = Workbook(); ws = wb.active; ws.title = "Meter"
    ws["A1"] = "Meter readings Old Mill, 2022-2024"; ws["A1"].font = BOLD; ws.merge_cells("A1:H1"); ws["A2"] = "read on the last day of each month"
    header(ws, 4, ["Month", "Electricity meter", "Electricity used\n(kWh)", "Gas meter", "Gas used\n(m³)", "Water\n(m³)", "Mean temp.\noutside °C", "Cost €"])
    r = 5
    for y in (2022, 2023, 2024):
        ws.cell(r, 1, f"Year {y}").font = BOLD; ws.merge_cells(start_row=r, start_column=1, end_row=r, end_column=8); r += 1
        part = [e for e in rows if e["year"] == y]
        for e in part:
            d = dt.datetime(y, e["month"], 1); k = rng.random(); c = ws.cell(r, 1)
            if k < 0.5: c.value = d; c.number_format = "MMM YY"
            else: c.value = d.strftime(rng.choice(["%b %Y", "%m/%Y", "%B %Y", "%b %y"]))
            ws.cell(r, 2, e["el_reading"]); put_num(rng, ws.cell(r, 3), e["el"], fmt="#,##0", p=0.1, texts=("{}", "{} kWh"))
            ws.cell(r, 4, e["gas_reading"] if e["gas_reading"] else "n/a"); 
            if e["gas"] is None: ws.cell(r, 5, "n/a")
            else: put_num(rng, ws.cell(r, 5), e["gas"], fmt="0", p=0.08, texts=("{}",))
            ws.cell(r, 6, e["water"]); put_num(rng, ws.cell(r, 7), e["temp"], fmt="0.0", p=0.08, texts=("{:.1f}",)); put_num(rng, ws.cell(r, 8), e["cost"], p=0.08, texts=("{:.2f}", "{:.2f} €"))
            r += 1
        ws.cell(r, 1, f"Sum {y}").font = BOLD
        for c, k in ((3, "el"), (5, "gas"), (6, "water"), (8, "cost")): ws.cell(r, c, round(sum(e[k] or 0 for e in part), 2)).font = BOLD
        r += 2
    ws.cell(r, 1, "August 2023: gas meter was replaced, no reading. Cost without standing charges.")
    widths(ws, [16, 12, 12, 12, 10, 10, 12, 12]); save(wb, "Energy readings.xlsx")


if __name__ == "__main__":
    for f in (expenses, timesheet, orders, stock, staff, invoices, club, marks, van, pnl, registrations, energy): f()
    (HERE / "truth.json").write_text(json.dumps(TRUTH, ensure_ascii=False, indent=1))
    for k, v in TRUTH.items(): print(f"{k:36} {len(v) if isinstance(v, list) else {a: len(b) for a, b in v.items()}}")
