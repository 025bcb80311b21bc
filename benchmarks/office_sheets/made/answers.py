"""Computes the right answer of each of the 120 questions from the files, checks them, and writes questions.jsonl.

    .venv/bin/python answers.py

For each question it also works out what a second fair reading would give (`same`, must agree) and what a careless
reader would say (`wrong`, must differ, goes into must_not). Tops are refused where there is a tie at or above the cut.
"""
import datetime as dt, json, random, re
from collections import Counter, defaultdict
from pathlib import Path
from load import load

HERE = Path(__file__).parent.parent
A = load()
OUT = []
D = dt.date
MONTHS = "January February March April May June July August September October November December".split()


def fmt(v, digits=2):
    if isinstance(v, str): return v
    if isinstance(v, dt.date): return v.isoformat()
    if abs(v - round(v)) < 1e-9: return str(int(round(v)))
    s = f"{v:.{digits}f}"
    return s[:-2] if digits == 1 and s.endswith(".0") else s


def half_up_safe(v, digits):
    """not within a hair of a rounding edge"""
    x = abs(v) * 10 ** digits
    return abs((x % 1) - 0.5) > 1e-6


def q(sheet, kind, question, values=(), lang="English", tol=0.01, digits=2, wrong=(), same=(), note=""):
    vals = [fmt(v, digits) for v in values]
    for v in values:
        if isinstance(v, float) and abs(v * 10 ** digits - round(v * 10 ** digits)) > 1e-6 and tol < 0.5: assert half_up_safe(v, digits), (question, v)
    for s in same:
        assert len(s) == len(values), (question, s, values)
        for a, b in zip(s, values):
            assert a == b or (not isinstance(a, str) and not isinstance(a, dt.date) and abs(a - b) < 1e-6), (question, a, b)
    # left out: what a right answer may well mention beside (whole totals, other cells of the row, whole numbers below 100)
    numbers = [v for v in values if isinstance(v, (int, float))]
    must_not, dropped = [], []
    for w in wrong:
        s = fmt(w, digits)
        far = isinstance(w, str) or all(abs(w - v) > max(2 * tol, 0.02) for v in numbers)
        (must_not if far and s not in vals and s not in must_not and (not isinstance(w, (int, float)) or "." in s or abs(w) >= 100) else dropped).append(s)
    assert (kind == "none") == (not vals), question
    OUT.append(dict(sheet=sheet, kind=kind, question=question, language=lang, values=vals, tolerance=tol, must_not=must_not, note=note))


def tops(d, n=1, smallest=False):
    o = sorted(d.items(), key=lambda kv: kv[1], reverse=not smallest)
    for a, b in zip(o[:n], o[1:n + 1]): assert abs(a[1] - b[1]) > 0.005, ("tie", o[:n + 1])
    return [k for k, _ in o[:n]]


def by(rows, key, val):
    d = defaultdict(float)
    for e in rows: d[e[key]] += e[val] or 0
    return {k: round(v, 2) for k, v in d.items()}


def flat(d): return [x for kv in d.items() for x in kv]
def S(rows, k): return round(sum(e[k] or 0 for e in rows), 2)
def W(rows, **kw): return [e for e in rows if all(v(e[k]) if callable(v) else e[k] == v for k, v in kw.items())]
def pct(a, b): return 100 * a / b
def between(a, b): return lambda d: a <= d <= b
P = dict(tol=0.5, digits=1)          # percents: 34 and 34.2 are both right


# ---------------------------------------------------------------------------------------------- 1
n, e = "Expenses Q1.xlsx", A["Expenses Q1.xlsx"]
raw = lambda rows, i, v: [x for x in rows if x["raw"][i] == v]
unpaid = W(e, status="unpaid"); assert {x["status"] for x in e} == {"paid", "unpaid"}
q(n, "count", "how many expenses are still unpaid", [len(unpaid)], wrong=[len(raw(e, 5, "unpaid"))], note="rows whose status is unpaid, in any capitals and with trailing spaces")
pr = W(unpaid, who="Priya Nair")
q(n, "filter", "how much do we still owe priya?", [S(pr, "amount")], wrong=[S(raw(raw(pr, 5, "unpaid"), 1, "Priya Nair"), "amount"), round(sum(x["amount"] for x in pr if isinstance(x["raw"][4], (int, float))), 2)], note="amount of Priya's rows that are unpaid")
q(n, "top", "Who claimed the most money over the whole quarter?", tops(by(e, "who", "amount")), note="largest sum of amounts per person, paid or not")
q(n, "group", "what did each person claim in total", flat(by(e, "who", "amount")), note="sum of amounts per person, paid or not; names may be first names only")
q(n, "share", "What percentage of the total amount went on travel?", [pct(S(W(e, category="Travel"), "amount"), S(e, "amount"))], wrong=[pct(S(W(e, category="Travel"), "amount"), 2 * S(e, "amount")), pct(len(W(e, category="Travel")), len(e))], note="amounts of the category Travel over the total of all amounts", **P)
d1, d2 = D(2025, 2, 8), D(2025, 3, 9)
q(n, "dates", "how much was spent betwen 8 february and 9 march", [S(W(e, date=between(d1, d2)), "amount")], same=[[S(W(e, date=lambda d: d1 < d < d2), "amount")]], wrong=[S([x for x in e if between(d1, d2)(x["date"]) and not isinstance(x["raw"][0], str)], "amount")], note="sum of amounts dated 8 February to 9 March 2025; nothing on the two days themselves")
h = [x for x in e if "leeds" in x["what"].lower()]; assert len(h) == 1
q(n, "lookup", "what did the hotel in leeds cost us", [h[0]["amount"]], note="amount of the row Hotel Leeds, 2 nights")
q(n, "sum", "Wie viel Geld wurde im Januar insgesamt ausgegeben?", [S(W(e, date=lambda d: d.month == 1), "amount")], lang="German", wrong=[S([x for x in e if x["date"].month == 1 and not isinstance(x["raw"][0], str)], "amount")], note="sum of all amounts dated January, paid or not")
t, l = S(W(e, who="Tom Becker"), "amount"), S(W(e, who="Luis Ortega"), "amount"); assert t > l
q(n, "difference", "how much more did tom claim then luis", [t - l], note="Tom's sum minus Luis's sum")
q(n, "none", "How much did Priya claim in April?", note="the sheet holds January to March only; a bare 0 is not right"); assert max(x["date"] for x in e) < D(2025, 4, 1)

# ---------------------------------------------------------------------------------------------- 2
n, e = "Time sheet Oct-Dec.xlsx", A["Time sheet Oct-Dec.xlsx"]
td = W(e, project="Tide app"); vis = [x for i, x in enumerate(e) if not 90 <= i <= 96]
q(n, "sum", "how many hours went into the tide app alltogether", [S(td, "hours")], wrong=[S(raw(td, 2, "Tide app"), "hours"), S(W(vis, project="Tide app"), "hours"), S([x for x in td if isinstance(x["raw"][4], (int, float))], "hours")], note="hours of the project Tide app; the hidden rows count, as the note on the sheet says")
q(n, "group", "hours per person please", flat(by(e, "who", "hours")), note="sum of hours per name; n/a counts nothing")
q(n, "share", "What share of all the hours booked is billable, in percent?", [pct(S(W(e, billable="yes"), "hours"), S(e, "hours"))], wrong=[pct(S(W(e, billable="yes"), "hours"), 2 * S(e, "hours")), pct(len(W(e, billable="yes")), len(e))], note="hours with billable yes, y, Y, YES over all hours", **P)
q(n, "top", "top 3 people by hours booked", tops(by(e, "who", "hours"), 3), note="largest sums of hours per name, in this order")
m = W(e, who="Mei Tanaka", task="Meeting", date=lambda d: d.month == 11); assert len(m) >= 2
q(n, "filter", "how many hours did mei sit in meetings in november?", [S(m, "hours")], wrong=[S(W(e, who="Mei Tanaka", task="Meeting"), "hours"), S(W(e, task="Meeting", date=lambda d: d.month == 11), "hours")], note="hours of Mei, task Meeting, any project, dated November 2024")
q(n, "dates", "How many hours were logged before 1 November?", [S(W(e, date=lambda d: d < D(2024, 11, 1)), "hours")], wrong=[S([x for x in e if x["date"] < D(2024, 11, 1) and not isinstance(x["raw"][0], str)], "hours"), S([x for x in e if x["date"] < D(2024, 11, 1) and isinstance(x["raw"][4], (int, float))], "hours")], note="hours of October 2024")
q(n, "none", "how many hours did hannah work in january", note="the sheet holds October to December only; a bare 0 is not right")
q(n, "filter", "¿Cuántas horas no facturables tiene Jonas?", [S(W(e, who="Jonas Frey", billable="no"), "hours")], lang="Spanish", wrong=[S(raw(W(e, who="Jonas Frey", billable="no"), 5, "no"), "hours")], note="hours of Jonas with billable no, n, No")
ng = sorted({x["who"] for x in e if x["project"] == "Northgate audit"}); assert len(ng) == 3
q(n, "list", "who has been working on the northgate audit", ng, wrong=sorted({x["who"] for x in e} - set(ng)), note="distinct names with the project Northgate audit")
q(n, "none", "What is Mei's hourly rate?", note="there is no column of rates")

# ---------------------------------------------------------------------------------------------- 3
n, e = "Auftraege_2024.csv", A["Auftraege_2024.csv"]
s = W(e, region="Süd")
q(n, "count", "how many orders came from the south", [len(s)], wrong=[len(raw(s, 2, "Süd")), len(s) + 1], note="rows of region Süd, süd, SÜD")
q(n, "sum", "Wie hoch war der Umsatz im März?", [S(W(e, date=lambda d: d.month == 3), "amount")], lang="German", wrong=[S([x for x in e if x["date"].month == 3 and "-" not in x["raw"][1]], "amount")], note="sum of Betrag dated March 2024")
assert abs(S(e, "amount") - sum(x["qty"] * x["price"] for x in e)) < 0.01
reg = by(e, "region", "amount")
q(n, "group", "revenue by region", flat(reg), wrong=[S(raw(e, 2, r), "amount") for r in reg], note="sum of Betrag per region (Nord, Süd, West, Ost)")
q(n, "top", "top 3 custumers by turnover", tops(by(e, "customer", "amount"), 3), note="largest sums of Betrag per Kunde, in this order")
w = W(e, region="West")
q(n, "average", "What is the average order value in the west?", [S(w, "amount") / len(w)], tol=0.05, wrong=[S(e, "amount") / len(e)], note="mean Betrag of the rows of region West")
q(n, "share", "wieviel prozent vom umsatz kommen aus dem osten?", [pct(reg["Ost"], S(e, "amount"))], lang="German", wrong=[pct(reg["Ost"], 2 * S(e, "amount")), pct(len(W(e, region="Ost")), len(e))], note="Betrag of region Ost over the Summe", **P)
after = W(e, date=lambda d: d > D(2024, 11, 15))
q(n, "dates", "how many orders were placed after 15 november 2024", [len(after)], same=[[len(W(e, date=lambda d: d >= D(2024, 11, 15)))]], wrong=[len([x for x in after if "-" not in x["raw"][1]])], note="rows dated later than 15.11.2024; there is none on the day itself")
o = W(e, no="A-24187"); assert len(o) == 1
q(n, "lookup", "Which article was in order A-24187?", [o[0]["article"]], note="Artikel of that row")
qu = lambda k: S(W(e, date=lambda d: (d.month - 1) // 3 == k - 1), "amount"); assert qu(4) > qu(1)
q(n, "difference", "how much higher was revenue in the last quarter than in the first", [round(qu(4) - qu(1), 2)], note="sum of Betrag October to December minus January to March")
q(n, "none", "What was our turnover in 2023?", note="the file holds 2024 only"); assert {x["date"].year for x in e} == {2024}

# ---------------------------------------------------------------------------------------------- 4
n, e = "Stock list.xlsx", A["Stock list.xlsx"]
low = [x for x in e if x["minimum"] is not None and x["stock"] < x["minimum"]]
q(n, "count", "how many articles are below there minimum stock", [len(low)], same=[[len([x for x in e if x["minimum"] is not None and x["stock"] <= x["minimum"]])]], wrong=[len([x for x in low if isinstance(x["raw"][3], (int, float)) and isinstance(x["raw"][4], (int, float))])], note="in stock smaller than minimum; without the four n/a; nowhere are the two equal")
q(n, "list", "Which articles have run out completely?", [x["name"] for x in e if x["stock"] == 0], note="in stock is 0")
hx = [x for x in e if x["name"] == "Hex nut M8"]; assert len(hx) == 1 and hx[0]["stock"] == 1340
q(n, "lookup", "how many M8 hex nuts do we have?", [int(hx[0]["stock"])], note="in stock of Hex nut M8")
worth = round(sum(x["stock"] * x["cost"] for x in e), 2)
q(n, "sum", "what is everything in stock worth at purchase prices", [worth], wrong=[round(sum(x["stock"] * x["sale"] for x in e), 2), S(e, "cost"), round(sum(x["raw"][3] * x["raw"][6] for x in e if isinstance(x["raw"][3], (int, float)) and isinstance(x["raw"][6], (int, float))), 2)], note="sum over the articles of in stock times purchase price")
q(n, "top", "the 3 articles we have most pieces of", tops({x["name"]: x["stock"] for x in e}, 3), note="largest in stock, in this order")
c = Counter(x["supplier"] for x in e)
q(n, "group", "how many different articles do we buy from each supplier", flat(c), note="rows per supplier, whatever capitals and blanks")
q(n, "top", "Welcher Artikel hat den höchsten Verkaufspreis?", tops({x["name"]: x["sale"] for x in e}), lang="German", note="largest sale price")
co = W(e, supplier="Colora")
q(n, "average", "average selling price of the things from colora", [S(co, "sale") / len(co)], tol=0.05, wrong=[S(co, "cost") / len(co), sum(x["sale"] * x["stock"] for x in co) / sum(x["stock"] for x in co)] , note="mean sale price of the Colora rows, each article once")
k = W(e, supplier="Keller & Sons")
q(n, "filter", "How many pieces are on order from Keller & Sons?", [int(S(k, "on_order"))], wrong=[int(S(raw(k, 8, "Keller & Sons"), "on_order")), int(S([x for x in k if isinstance(x["raw"][5], (int, float))], "on_order")), int(S(k, "stock"))], note="sum of on order of the supplier's rows")
q(n, "none", "when will the delivery from Brandt arrive?", note="there is no column of delivery dates")

# ---------------------------------------------------------------------------------------------- 5
n, e, left = "Staff list 2025.xlsx", A["Staff list 2025.xlsx"]["staff"], A["Staff list 2025.xlsx"]["left"]
assert len({x["surname"] for x in e + left}) == len(e + left)
sa = W(e, dept="Sales")
q(n, "count", "how many people work in sales", [len(sa)], wrong=[len(sa) + 2, len(raw(sa, 3, "Sales"))], note="rows of the upper table with the department Sales; the two who left in 2024 are in the second table")
q(n, "top", "Who has been with the company longest?", [x for x in e if x["start"] == min(y["start"] for y in e)][0:1] and [min(e, key=lambda x: x["start"])["surname"]], note="earliest start; surname, the first name is Sean")
y = 2022; st = [x["surname"] for x in e if x["start"].year == y]; print("   started", y, st)
q(n, "list", f"who started in {y}", st, note="surnames of those whose start is in that year; first names alone would do for people")
wh = W(e, dept="Warehouse")
q(n, "average", "avg weekly hours of the warehouse people", [S(wh, "hours") / len(wh)], tol=0.05, wrong=[S([x for x in wh if isinstance(x["raw"][6], (int, float))], "hours") / len([x for x in wh if isinstance(x["raw"][6], (int, float))]), S(e, "hours") / len(e)], note="mean of hours / week of the Warehouse rows of the upper table")
c = Counter(x["dept"] for x in e)
q(n, "group", "Headcount per department?", flat(c), note="rows of the upper table per department")
jo = W(e, start=lambda d: d < D(2018, 1, 1))
q(n, "dates", "how many of the current staff joined before 2018", [len(jo)], wrong=[len([x for x in jo if not isinstance(x["raw"][5], str)]), len(W(e, start=lambda d: d.year <= 2018))], note="start earlier than 1 January 2018, upper table")
pt = W(e, fte=lambda f: f < 100)
q(n, "share", "what percentage of the staff works less than full time?", [pct(len(pt), len(e))], same=[[pct(len(W(e, hours=lambda h: h < 40)), len(e))]], wrong=[pct(len(pt), len(e) + len(left))], note="rows with FTE below 100 % over all 44 of the upper table", **P)
q(n, "lookup", "what does ingrid solheim do here", ["Head of Controlling"], note="position of that row"); assert W(e, surname="Solheim")[0]["post"] == "Head of Controlling"
q(n, "lookup", "Wann war der letzte Arbeitstag von Paulo Reis?", [W(left, surname="Reis")[0]["left"]], lang="German", note="last day in the second table; a date, any writing of it will do")
q(n, "none", "¿Cuál es el número de teléfono de Ingrid Solheim?", lang="Spanish", note="there is no column of telephone numbers")

# ---------------------------------------------------------------------------------------------- 6
n, e = "Invoices 2025.xlsx", A["Invoices 2025.xlsx"]
assert {x["state"] for x in e} == {"paid", "open", "cancelled"}
ca = W(e, state="cancelled")
q(n, "count", "how many invoices were canceled", [len(ca)], wrong=[len(raw(ca, 8, "cancelled"))], note="rows with the state cancelled, in any capitals")
op = W(e, state="open", cur="EUR")
q(n, "sum", "How much money in euros is still open, VAT included?", [S(op, "gross")], wrong=[S(op, "net"), S(W(e, state="open"), "gross"), S(raw(op, 8, "open"), "gross")], note="gross of the rows in EUR whose state is open")
c = Counter(x["customer"] for x in e)
q(n, "group", "number of invoices per customer", flat(c), note="rows per customer, all states")
due = W(e, state="open", due=lambda d: d < D(2025, 5, 1)); print("   due", len(due), min(abs((x["due"] - D(2025, 5, 1)).days) for x in W(e, state="open")))
q(n, "list", "¿Qué facturas abiertas vencían antes del 1 de mayo de 2025?", [x["no"] for x in due], lang="Spanish", wrong=[x["no"] for x in W(e, state="open", due=D(2025, 5, 1))], note="state open and due before 1 May 2025; one that is due on the day itself does not belong to it")
pe = by(W(e, state="paid", cur="EUR"), "customer", "gross"); pn = by(W(e, state="paid", cur="EUR"), "customer", "net")
q(n, "top", "which customer has payed us the most in euros so far?", tops(pe), same=[tops(pn)], note="largest gross (and net) of paid rows in EUR per customer")
pu = W(e, state="paid", cur="USD")
q(n, "average", "average amount of the dollar invoices that are paid", [S(pu, "net") / len(pu)], tol=0.05, same=[[S(pu, "gross") / len(pu)]], wrong=[S(W(e, state="paid"), "gross") / len(W(e, state="paid")), S(W(e, cur="USD"), "gross") / len(W(e, cur="USD"))], note="mean of net (= gross, no VAT) of paid rows in USD")
x = W(e, no="RE-2025-041")[0]; print("  ", x["state"], x["paid_on"]); assert x["state"] == "paid"
q(n, "lookup", "when was RE-2025-041 paid", [x["paid_on"]], note="paid on of that row; a date, any writing of it will do")
q(n, "share", "Of all invoices, what percentage (by number) is paid?", [pct(len(W(e, state="paid")), len(e))], wrong=[pct(len(raw(e, 8, "paid")), len(e)), pct(S(W(e, state="paid"), "gross"), S(e, "gross"))], note="rows with the state paid over all rows, cancelled ones among them", **P)
a, b = pe["Oberland Hotels"], pe["Maison Verre"]; hi, lo = ("Oberland Hotels", "Maison Verre") if a > b else ("Maison Verre", "Oberland Hotels")
q(n, "difference", f"how much more has {hi} paid than {lo}, with VAT", [round(abs(a - b), 2)], wrong=[round(abs(pn["Oberland Hotels"] - pn["Maison Verre"]), 2)], note="gross of the paid rows of the one minus that of the other")
q(n, "none", "What do we still get from Northwind Traders?", note="no such customer; a bare 0 is not right")

# ---------------------------------------------------------------------------------------------- 7
n, e = "Cuotas socios 2025.xlsx", A["Cuotas socios 2025.xlsx"]
no = W(e, paid="no"); assert all(x["fee"] == 0 for x in e if x["paid"] is None) and len({x["name"] for x in e}) == 72
q(n, "count", "¿Cuántos socios deben todavía la cuota?", [len(no)], lang="Spanish", same=[[len([x for x in e if x["paid"] != "sí" and x["fee"] > 0])]], wrong=[len([x for x in e if x["paid"] != "sí"]), len(raw(no, 5, "no"))], note="Pagado is no; members of honour owe nothing")
q(n, "sum", "how much money in fees is still outstanding", [int(S(no, "fee"))], wrong=[int(S(raw(no, 5, "no"), "fee")), int(S([x for x in no if isinstance(x["raw"][4], (int, float))], "fee"))], note="Cuota anual of those with Pagado no")
q(n, "list", "which youth members havent paid yet", [x["name"] for x in W(no, cat="Juvenil")], note="Categoría Juvenil and Pagado no"); print("   juv", len(W(no, cat="Juvenil")))
q(n, "group", "¿cuántos socios hay en cada categoría?", flat(Counter(x["cat"] for x in e)), lang="Spanish", note="rows per Categoría, paid or not")
tr = W(e, method="Transferencia")
q(n, "filter", "Wie viele Mitglieder haben per Überweisung bezahlt?", [len(tr)], lang="German", wrong=[len(raw(tr, 6, "Transferencia"))], note="Forma de pago is Transferencia (Domiciliación is a direct debit)")
q(n, "share", "What percent of the fee money has come in so far?", [pct(S(W(e, paid="sí"), "fee"), S(e, "fee"))], wrong=[pct(S(W(e, paid="sí"), "fee"), 2 * S(e, "fee")), pct(len(W(e, paid="sí")), len(e))], note="fees with Pagado sí over all fees", **P)
j = W(e, joined=lambda d: d >= D(2021, 1, 1))
q(n, "dates", "how many members have joined since 1 january 2021", [len(j)], same=[[len(W(e, joined=lambda d: d > D(2021, 1, 1)))]], wrong=[len([x for x in j if not isinstance(x["raw"][3], str)]), len(W(e, joined=lambda d: d.year > 2021))], note="Fecha de alta from 2021 on")
q(n, "top", "Who has been a memeber for the longest time?", tops({x["name"]: x["joined"].toordinal() for x in e}, smallest=True), note="earliest Fecha de alta")
q(n, "lookup", "¿qué cuota paga lucía fernández soler?", [95], lang="Spanish", note="Cuota anual of that row"); assert W(e, name="Lucía Fernández Soler")[0]["fee"] == 95 and len([x for x in e if x["name"].startswith("Lucía F")]) == 1
q(n, "none", "which members live in valencia", note="there is no column of addresses")

# ---------------------------------------------------------------------------------------------- 8
n, e = "BIO101 marks.tsv", A["BIO101 marks.tsv"]
f = W(e, grade="F")
q(n, "count", "Wie viele Studierende sind durchgefallen?", [len(f)], lang="German", same=[[len(W(e, total=lambda v: v < 50))]], note="grade F, the same as total below 50 %")
sat = [x for x in e if x["final"] is not None]
q(n, "top", "top 3 in the final exam", tops({x["name"]: x["final"] for x in sat}, 3), wrong=[], note="largest marks in the final exam, in this order; not the three first ranks, which go by the total")
mb = [x["mid"] for x in W(e, group="B") if x["mid"] is not None]
q(n, "average", "What was the average midterm mark in group B, not counting those who were absent?", [sum(mb) / len(mb)], tol=0.06, wrong=[sum(mb) / len(W(e, group="B")), sum(x["mid"] or 0 for x in e) / len([x for x in e if x["mid"] is not None])], note="mean of Midterm of group B (b, 'B ') over those with a mark")
q(n, "list", "who was missing at the final exam", [x["name"] for x in e if x["final"] is None], note="abs in the column Final exam")
q(n, "group", "how many students got each grade", flat(dict(sorted(Counter(x["grade"] for x in e).items()))), note="rows per grade")
q(n, "lookup", "what rank did noor haddad get", [W(e, name="Noor Haddad")[0]["rank"]], note="Rank of that row")
q(n, "share", "What percentage of the students got an A?", [pct(len(W(e, grade="A")), len(e))], note="rows with grade A over all 46", **P)
q(n, "difference", "of those who sat the final, how many points lie between the best and the worst mark", [max(x["final"] for x in sat) - min(x["final"] for x in sat)], wrong=[], note="largest minus smallest mark of the final exam, without the absent")
q(n, "filter", "how many in group c have more then 70 % in total?", [len(W(e, group="C", total=lambda v: v > 70))], same=[[len(W(e, group="C", total=lambda v: v >= 70))]], wrong=[len(W(e, total=lambda v: v > 70))], note="group C (c, 'C ') with a total above 70 %")
q(n, "none", "What did Noor get in quiz 3?", note="there are two quizzes only")

# ---------------------------------------------------------------------------------------------- 9
n, e = "Van log 2025.xlsx", A["Van log 2025.xlsx"]
er = W(e, driver="Erik"); fu = [x for x in e if x["litres"]]
q(n, "sum", "how many km did erik drive altogther", [int(S(er, "km"))], wrong=[int(S(raw(er, 1, "Erik"), "km")), int(S([x for x in er if isinstance(x["raw"][5], (int, float))], "km"))], note="km of Erik's rows")
fm = {MONTHS[m - 1]: S(W(e, date=lambda d, m=m: d.month == m), "cost") for m in (2, 3, 4)}
q(n, "group", "what did fuel cost us each month", flat(fm), note="sum of Fuel € of February, March and April, as the subtotals say")
q(n, "lookup", "What was the reading on the odometer at the end of the log?", [int(e[-1]["end"])], same=[[int(max(x["end"] for x in e))]], note="Odometer in of the last trip")
lt = max(e, key=lambda x: x["km"]); assert sorted(x["km"] for x in e)[-2] < lt["km"] and lt["end"] - lt["start"] == lt["km"]
q(n, "top", "Wer hat die längste Fahrt gemacht und wie viele km waren es?", [lt["driver"], int(lt["km"])], lang="German", note="largest km of one trip, not a subtotal")
q(n, "average", "how many litres do we fill up on avarage per stop", [S(fu, "litres") / len(fu)], tol=0.05, wrong=[S(e, "litres") / len(e), 3 * S(e, "litres") / (len(fu) + 4), S([x for x in fu if not isinstance(x["raw"][6], str)], "litres") / len([x for x in fu if not isinstance(x["raw"][6], str)])], note="mean of Litres over the rows that have any, without the subtotals")
q(n, "count", "how often was the van refuelled?", [len(fu)], wrong=[len(fu) + 4, len(fu) + 3, len([x for x in fu if not isinstance(x["raw"][6], str)])], note="rows with litres, without the subtotals")
mk = W(e, date=between(D(2025, 3, 10), D(2025, 3, 20)))
q(n, "dates", "kilometres from 10 to 20 march, both days included", [int(S(mk, "km"))], wrong=[int(S([x for x in mk if not isinstance(x["raw"][0], str)], "km")), int(S([x for x in mk if isinstance(x["raw"][5], (int, float))], "km")), int(S(W(e, date=lambda d: d.month == 3), "km"))], note="km of the trips on 10 to 20 March 2025")
so = S(W(e, driver="Sonja"), "km")
q(n, "share", "What percentage of the kilometres did Sonja drive?", [pct(so, S(e, "km"))], wrong=[pct(so, 2 * S(e, "km")), pct(so, 3 * S(e, "km")), pct(S(raw(e, 1, "Sonja"), "km"), S(e, "km"))], note="km of Sonja over all km", **P)
br = sorted({x["driver"] for x in e if x["to"] == "Bremen"}); assert br == ["Erik", "Sonja"], br
q(n, "list", "which drivers have been to bremen", br, wrong=["Mahmoud", "Lena"], note="distinct drivers with the destination Bremen")
q(n, "none", "Who got the speeding ticket in March?", note="nothing is said of a ticket")

# ---------------------------------------------------------------------------------------------- 10
n, e = "P&L 2021-2024.xlsx", A["P&L 2021-2024.xlsx"]
Y = {y: i for i, y in enumerate((2021, 2022, 2023, 2024))}
v = lambda k, y: int(e[k][Y[y]])
assert v("Net result", 2022) < 0
q(n, "lookup", "net result 2022?", [-v("Net result", 2022)], note="(29,385): a loss, so the right answer is negative or speaks of a loss; the value is given without its sign")
mk = -v("Marketing", 2024) + v("Marketing", 2023); assert mk > 0
q(n, "difference", "how much more did we spend on marketing in 2024 than the year before", [mk], wrong=[-v("Marketing", 2024) - v("Marketing", 2023)], note="44,215 minus 39,880")
q(n, "sum", "What have we spent on personnel in all four years together?", [int(-sum(e["Personnel"]))], wrong=[int(-sum(e["Personnel"]) + 2 * e["Personnel"][1]), int(-sum(e["Personnel"]) + e["Personnel"][1])], note="sum of the line Personnel; in 2022 the figure is a text in brackets")
q(n, "share", "what percentage of total costs was personnel in 2024", [pct(v("Personnel", 2024), v("Total costs", 2024))], wrong=[pct(-v("Personnel", 2024), v("Total revenue", 2024))], note="Personnel over Total costs, 2024", **P)
costs = ["Cost of materials", "Personnel", "Rent", "Marketing", "Depreciation", "Other operating costs"]
q(n, "top", "what was our bigest cost in 2023", tops({k: -v(k, 2023) for k in costs}), note="largest cost line of 2023, not the total")
q(n, "average", "average product sales per year", [sum(e["Product sales"]) / 4], tol=0.5, wrong=[sum(e["Total revenue"]) / 4], note="mean of the four figures of Product sales")
loss = [y for y in Y if v("Net result", y) < 0]; assert loss == [y for y in Y if v("Operating result", y) < 0]
q(n, "list", "In which years did we make a loss?", [str(y) for y in loss], wrong=[], note="years with a negative net result (the operating result is negative in the same years)")
q(n, "lookup", "wie hoch war die miete 2023", [-v("Rent", 2023)], lang="German", note="Rent, 2023; an expense, the sign does not matter")
q(n, "top", "¿En qué año vendimos más productos?", [str(tops({y: v("Product sales", y) for y in Y})[0])], lang="Spanish", note="year with the largest Product sales")
q(n, "none", "what was the revenue in 2020?", note="the statement begins with 2021")

# ---------------------------------------------------------------------------------------------- 11
n, e = "registrations_summer_school.csv", A["registrations_summer_school.csv"]
vg = W(e, diet="vegan")
q(n, "count", "how many people registered as vegan", [len(vg)], wrong=[len(raw(vg, 8, "vegan"))], note="Dietary needs is vegan, in any capitals; all registrations, paid or not")
pa = W(e, paid="yes")
q(n, "sum", "how much money do the registrations marked as paid add up to", [int(S(pa, "price"))], wrong=[int(S(raw(pa, 6, "yes"), "price")), int(S(W(e, paid=lambda p: p != "no"), "price"))], note="Fee of the rows with Paid? yes; refunded is not yes")
q(n, "group", "How many registered for each workshop?", flat(Counter(x["workshop"] for x in e)), note="rows per workshop, paid or not")
q(n, "top", "the three contries with the most registrations", tops(Counter(x["country"] for x in e), 3), note="rows per country, in this order")
po = [x["last"] for x in W(e, country="Portugal")]; assert len(po) == 5 and all(len([x for x in e if x["last"] == l]) == 1 for l in po)
q(n, "list", "is there anybody from portugal, and who?", po, note="surnames of the rows with the country Portugal; all of them are wanted")
da = W(e, time=lambda t: D(2025, 5, 15) <= t.date() <= D(2025, 5, 31))
q(n, "dates", "how many signed up from 15 to 31 may (inclusive)", [len(da)], wrong=[len([x for x in da if "-" in x["raw"][0][:5]]), len(W(e, time=lambda t: t.month == 5))], note="rows with a timestamp on 15 to 31 May 2025")
q(n, "share", "What percentage of the registrations has been refunded?", [pct(len(W(e, paid="refunded")), len(e))], wrong=[], note="rows with Paid? refunded over all 160", **P)
ka = [x for x in e if x["last"] == "Asante"]; assert len(ka) == 1
q(n, "lookup", "which workshop did kwame asante choose", [ka[0]["workshop"]], note="Workshop choice of that row")
fr = W(e, country="France")
q(n, "average", "¿Cuál es la cuota media de los inscritos de Francia?", [S(fr, "price") / len(fr)], lang="Spanish", tol=0.05, wrong=[S(e, "price") / len(e), S(raw(fr, 10, "France"), "price") / len(raw(fr, 10, "France"))], note="mean Fee of the rows with the country France, paid or not")
q(n, "none", "How many of the participants are under 18?", note="there is no column of ages")

# ---------------------------------------------------------------------------------------------- 12
n, e = "Energy readings.xlsx", A["Energy readings.xlsx"]
yr = lambda y: W(e, year=y)
q(n, "sum", "how much electricty did we use in 2024", [int(S(yr(2024), "el"))], wrong=[int(2 * S(yr(2024), "el"))], note="sum of Electricity used over the months of 2024, as the row Sum 2024 says")
mg = tops({(x["year"], x["month"]): x["el"] for x in e}, smallest=True)[0]; print("   least electricity", mg)
q(n, "top", "In which month did we use the least power?", [MONTHS[mg[1] - 1][:3], str(mg[0])], note="smallest Electricity used (kWh) of one month; month and year, any writing (the value holds the first three letters)")
q(n, "average", "average water per month in 2023", [S(yr(2023), "water") / 12], tol=0.05, wrong=[2 * S(yr(2023), "water") / 13, S(e, "water") / 36], note="mean of Water over the 12 months of 2023")
g22, g24 = S(yr(2022), "gas"), S(yr(2024), "gas"); print("   gas", g22, g24)
q(n, "difference", f"how much {'less' if g24 < g22 else 'more'} gas did we burn in 2024 than in 2022", [int(abs(g24 - g22))], note="Gas used 2024 against 2022")
c24 = S(yr(2024), "cost")
q(n, "share", "What share of the 2024 costs fell into january to march, in percent?", [pct(S(W(yr(2024), month=lambda m: m <= 3), "cost"), c24)], wrong=[pct(S(W(yr(2024), month=lambda m: m <= 3), "cost"), 2 * c24), pct(S(W(yr(2024), month=lambda m: m <= 3), "cost"), S(e, "cost"))], note="cost of the three months over the cost of 2024", **P)
q(n, "lookup", "Wie war der Stand des Stromzählers Ende März 2023?", [W(e, year=2023, month=3)[0]["el_reading"]], lang="German", note="Electricity meter, March 2023; read on the last day of the month")
cold = [x for x in e if x["temp"] < 0]; print("   cold", [(x["year"], x["month"], x["temp"]) for x in cold])
q(n, "list", "was there any month with a mean temperature below zero? which", [z for x in cold for z in (MONTHS[x["month"] - 1][:3], str(x["year"]))], note="months with a negative mean temperature; month and year, any writing")
w = W(e, year=lambda y: True); win = [x for x in e if (x["year"], x["month"]) in {(2022, 10), (2022, 11), (2022, 12), (2023, 1), (2023, 2), (2023, 3)}]
q(n, "dates", "total cost from october 2022 to march 2023", [S(win, "cost")], wrong=[round(S(win, "cost") + S(yr(2022), "cost"), 2)], note="cost of the six months, both ends counted; without the row Sum 2022 that lies between")
q(n, "none", "how much gas did we use in august 2023?", note="n/a, the meter was replaced; saying n/a or that there is no reading is right")
q(n, "none", "How much did the solar panels produce?", note="there are no solar panels in the sheet"); 

# ---------------------------------------------------------------------------------------------- write
sheets = list(dict.fromkeys(r["sheet"] for r in OUT)); assert len(sheets) == 12 and len(OUT) == 120
aside = set(random.Random("aside-2025").sample(sheets, 4))
assert all(sum(r["sheet"] == s for r in OUT) == 10 for s in sheets) and len({r["question"] for r in OUT}) == 120
with open(HERE / "questions.jsonl", "w") as fh:
    for i, r in enumerate(OUT, 1):
        for bad in r["must_not"]: assert bad not in r["values"]
        fh.write(json.dumps(dict(id=f"s-{i:03d}", **r, part="aside" if r["sheet"] in aside else "dev"), ensure_ascii=False) + "\n")
        print(f"s-{i:03d} {'A' if r['sheet'] in aside else 'd'} {r['sheet'][:18]:18} {r['kind']:10} {r['question']}\n      = {r['values']}   not {r['must_not']}  ±{r['tolerance']}")
print(Counter(r["kind"] for r in OUT)); print(Counter(r["language"] for r in OUT)); print("lower case:", sum(r["question"][0].islower() or r["question"][0] == "¿" and r["question"][1].islower() for r in OUT)); print("aside:", aside)
