"""Vectors of models that keep all texts close together, spread out.

Models trained with a low temperature, as E5, give almost any two texts a cosine of 0.7 and more;
they rank well, but a cosine says little by itself, and here it is added to other evidence and held
against thresholds. What all vectors have in common is taken from each (Mu and Viswanath 2018), so
that texts which have nothing to do with each other have a cosine about nought. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

TEXTS = (
    "The bridge was closed for repairs until the end of autumn.",
    "Add the flour slowly and stir until there are no lumps.",
    "Profits fell in the third quarter because of higher costs.",
    "The patient was given two tablets a day after meals.",
    "Der Verein trifft sich jeden zweiten Dienstag im Rathaus.",
    "Das Gerät darf nicht ins Wasser getaucht werden.",
    "La bibliothèque est ouverte le samedi matin.",
    "Le moteur doit refroidir avant toute réparation.",
    "El contrato se renueva cada año salvo aviso previo.",
    "Los pájaros vuelven al valle en primavera.",
    "Il treno per la costa parte dal binario quattro.",
    "A chuva estragou quase toda a colheita de milho.",
    "De kinderen speelden de hele middag in de tuin.",
    "Firma szuka księgowego z doświadczeniem.",
    "Řeka se po bouřce vylila z břehů.",
    "Skolan börjar klockan åtta på vardagar.",
    "Öğrenciler sınav sonuçlarını yarın öğrenecek.",
    "Музей был основан в прошлом веке.",
    "Ціни на зерно знову зросли.",
    "Το πλοίο καθυστέρησε λόγω του ανέμου.",
    "تم توقيع الاتفاق في العاصمة أمس.",
    "הישיבה נדחתה לשבוע הבא.",
    "बैठक अगले सोमवार को होगी।",
    "নদীর ধারে একটি পুরনো মন্দির আছে।",
    "会议将在下个月举行。",
    "请在使用前仔细阅读说明书。",
    "山の上から海が見える。",
    "新しい駅は来年完成する予定です。",
    "새로운 법은 내년부터 시행됩니다.",
    "โรงเรียนปิดเพราะน้ำท่วม",
    "Giá vé đã tăng từ đầu năm nay.",
    "Mkutano ulifanyika katika ukumbi mkubwa.",
)
"""Texts that have nothing in common."""

_NOTHING = 1e-6  # a vector as short as that has no direction


def in_common(vectors: Sequence[Sequence[float]]) -> list[float]:
    """What the vectors of `TEXTS` have in common."""
    common: list[float] = np.mean(np.asarray(vectors), axis=0).tolist()
    return common


def apart(vectors: Sequence[Sequence[float]], common: Sequence[float]) -> list[list[float]]:
    """The vectors without what they have in common, of unit length."""
    made = np.asarray(vectors)
    rest = made - np.asarray(common)
    lengths = np.linalg.norm(rest, axis=1, keepdims=True)
    spread: list[list[float]] = np.where(
        lengths > _NOTHING, rest / np.maximum(lengths, _NOTHING), made
    ).tolist()
    return spread
