"""Verbs that questions are made of: their forms as sentences have them, and after do, does, did."""

from __future__ import annotations

BASE = {
    "employs": "employ", "operates": "operate", "runs": "run", "owns": "own", "carries": "carry",
    "makes": "make", "sells": "sell", "serves": "serve", "receives": "receive", "offers": "offer",
    "provides": "provide", "contains": "contain", "includes": "include", "uses": "use",
    "needs": "need", "holds": "hold", "covers": "cover", "requires": "require", "allows": "allow",
    "counts": "count", "takes": "take", "costs": "cost", "lasts": "last", "starts": "start",
    "begins": "begin", "opens": "open", "closes": "close", "ends": "end", "expires": "expire",
    "weighs": "weigh", "manages": "manage", "supports": "support", "publishes": "publish",
}  # fmt: skip
PAST = {
    "employed": "employ", "operated": "operate", "ran": "run", "owned": "own", "carried": "carry",
    "made": "make", "sold": "sell", "served": "serve", "received": "receive", "offered": "offer",
    "provided": "provide", "contained": "contain", "included": "include", "used": "use",
    "needed": "need", "held": "hold", "covered": "cover", "required": "require",
    "counted": "count", "took": "take", "cost": "cost", "lasted": "last", "started": "start",
    "began": "begin", "opened": "open", "closed": "close", "ended": "end", "expired": "expire",
    "added": "add", "built": "build", "completed": "complete", "recorded": "record",
    "hired": "hire", "trained": "train", "repaired": "repair", "sent": "send", "spent": "spend",
    "won": "win", "lost": "lose", "gained": "gain", "launched": "launch", "bought": "buy",
    "acquired": "acquire", "issued": "issue", "published": "publish", "signed": "sign",
    "rose": "rise", "grew": "grow", "fell": "fall", "increased": "increase",
    "decreased": "decrease", "declined": "decline", "dropped": "drop",
}  # fmt: skip
