"""What the reader is trained on, as data: sets, shares, made unanswerables and rates of noise.

Every number that shapes the training examples is in this file. A *round* is one pass over the
mixture; sets that are larger than their share are walked through from round to round.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class SetPlan:
    """One file of `train/` and how it is used in a round."""

    name: str
    """File name without `.jsonl.gz`."""
    share: float
    """Part of the set seen per round; above 1 means that examples repeat within a round."""
    clean_questions: bool = True
    """Written with capitals and a question mark, so they may be roughened."""
    mined: bool = False
    """Its questions are searched in the pool of all contexts for passages that do not answer.
    Only for questions that make sense without their passage: "Who are the parties?" has an
    answer in any contract, so a neighbour would be a false negative."""
    made: bool = False
    """Unanswerable twins are made from its questions (see `unanswerable.py`)."""
    per_context: int = 0
    """At most so many questions of one context per round; 0 means all."""
    licence: str = ""


SETS: tuple[SetPlan, ...] = (
    SetPlan("squad_v11_train_du44", 1.0, mined=True, made=True, licence="CC BY-SA 4.0"),
    SetPlan("flan_squad_part", 1.0, mined=True, made=True, licence="CC BY-SA 4.0"),
    # The only human unanswerables in the SQuAD manner; they decide the answerability score.
    SetPlan("squad2_unans_matched", 2.0, licence="CC BY-SA 4.0"),
    SetPlan("squadshifts_new_wiki", 1.0, mined=True, made=True, licence="CC BY 4.0"),
    SetPlan("squadshifts_amazon", 0.3, licence="CC BY 4.0"),
    SetPlan("squadshifts_reddit", 0.3, licence="CC BY 4.0"),
    SetPlan("nq_part", 1.5, clean_questions=False, mined=True, licence="CC BY-SA 3.0"),
    SetPlan("cuad_win", 0.3, licence="CC BY 4.0"),
    SetPlan("fairytaleqa", 0.2, licence="Apache-2.0"),
    SetPlan("quoref_part", 0.3, mined=True, licence="CC BY 4.0"),
    SetPlan("covidqa_win", 0.3, mined=True, licence="Apache-2.0"),
    SetPlan("friendsqa", 0.1, licence="Apache-2.0"),
    SetPlan("qamr", 0.25, per_context=6, licence="MIT"),
)


@dataclass(frozen=True, slots=True)
class MadeRates:
    """Unanswerables made from answerable questions, as shares of the questions that allow it."""

    mined: float = 0.30
    """A near passage, found by our own kind of search, that lacks the answer."""
    cut: float = 0.12
    """The same passage without the sentences that hold the answer."""
    swapped: float = 0.16
    """A name or number in the question changed for another one."""
    turned: float = 0.10
    """The question negated, or a word changed for its opposite."""
    keep_cut: float = 0.06
    """Answerable, but another sentence is missing: so that a gap alone says nothing."""


@dataclass(frozen=True, slots=True)
class NoiseRates:
    """How often questions and passages are roughened, as probabilities per example."""

    question_plain: float = 0.20
    """Lower case and no question mark, as typed into a search box."""
    question_misspelt: float = 0.06
    context_wrapped: float = 0.12
    """Lines broken at a page's width, long words hyphenated at some breaks."""
    context_titled: float = 0.10
    """A document title, a running head or a page number in front."""
    context_tabled: float = 0.04
    """Table rows before or after the text."""


@dataclass(frozen=True, slots=True)
class Mixture:
    """The whole recipe."""

    sets: tuple[SetPlan, ...] = SETS
    made: MadeRates = field(default_factory=MadeRates)
    noise: NoiseRates = field(default_factory=NoiseRates)
    empty_windows: float = 0.35
    """Share kept of windows without the answer, where another window of the passage has it."""
    max_tokens: int = 256
    stride: int = 96
    """Tokens that neighbouring windows share."""
    max_question: int = 64
