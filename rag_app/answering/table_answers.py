"""Answers that are computed: the writer says which query, code runs it, the figure is the query's.

Tables are chosen by what was found and by what they are called. What comes of a query is said by
the sentence that the writer wrote around it, and carries the rows that it rests on."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial

from rag_app.answering import abstention
from rag_app.answering.chat_generator import language_of
from rag_app.answering.extraction import AnswerType, form
from rag_app.answering.generation import Cancelled, Tokens, Writer
from rag_app.answering.prompts import (
    Message,
    query_messages,
    said_by,
    sure_of_columns,
    understood_query,
)
from rag_app.answering.query_ranking import (
    QueryRanker,
    agreement,
    likeliest_table,
    other_way_round,
    said_of,
    values_of,
)
from rag_app.answering.query_reading import Interpretation
from rag_app.answering.table_choice import TableChoice
from rag_app.errors import ModelUnavailable, QueryError
from rag_app.retrieval.ranking import STOPWORDS
from rag_app.scope import Scope
from rag_app.storage import Store
from rag_app.tables.computing import (
    NOTHING,
    as_headed,
    as_written,
    computation,
    first_said,
    names_of_rows,
    naming_columns,
    rows_used,
    sentence,
    told_alone,
    upright,
    with_names,
    without_unknown_money,
)
from rag_app.tables.conditions import figures
from rag_app.tables.describing import Described, alike
from rag_app.tables.explaining import of_column, tables_read
from rag_app.tables.mending import (
    belongs_to,
    either_or,
    figure_by_sheet,
    in_the_filled_column,
    left_out,
    mended,
    no_share,
    of_month,
    unfounded,
    with_column,
    with_column_beside,
)
from rag_app.tables.opening import OpenTables, TableOpener
from rag_app.tables.querying import Result, TableDatabase
from rag_app.tables.units import UnitsApart, units_apart
from rag_app.text.languages import compared
from rag_app.types import Basis, Column, Document, Draft, Note, NoteKind, Passage, Table

_AGAIN = "Write another query, or say None."
TRIES = 2  # what a query gives for an error is told to who wrote it, so often less one
_LITERAL = re.compile(r"'(?:[^']|'')*'|\b\d+(?:\.\d+)?\b")
_ALONE, _AMONG = 0.9, 0.7  # of the ranker's chance over a table, and where several may be meant
_HESITATES = 0.8  # over a column
_EITHER = 0.7  # how sure one may be of what has two readings
_UNKNOWN = 0.9  # how sure a writer counts as that does not say it: a chance of 0.49


@dataclass(frozen=True, slots=True)
class OtherReading:
    """What a query gives if its text is looked for in another column; what both are called."""

    own_name: str
    name: str
    result: Result


@dataclass(frozen=True, slots=True)
class SaidOfUnit:
    """What comes of a query over the rows in one unit, and what its rows are called."""

    name: str
    result: Result
    called: Mapping[tuple[int, int], str]


@dataclass(frozen=True, slots=True)
class TriedQuery:
    """A query that ran, its sentence, and how sure the writer was that there is one."""

    sql: str
    say: str
    result: Result
    says_yes: float
    tables: tuple[Table, ...]
    other: OtherReading | None = None
    sure_of_columns: float = 1.0  # the least that the writer was when it chose what to compute with
    called: Mapping[tuple[int, int], str] = field(default_factory=dict)  # see `names_of_rows`
    apart: Sequence[SaidOfUnit] = ()  # where its figures are in several units
    notes: tuple[Note, ...] = ()
    agrees: float | None = None  # the chance that the ranker gives to its result
    ranked: float | None = None  # the same of a query that the ranker chose, and no writer wrote
    by_sheet: Mapping[str, Result] = field(default_factory=dict)  # the same of each of several

    @property
    def chance(self) -> float:
        """Of being what was asked for."""
        if self.ranked is not None:
            return self.ranked
        told = abstention.of_query(self.says_yes, self.sure_of_columns, self.agrees)
        return min(told, _EITHER) if self.other else told


@dataclass(frozen=True, slots=True)
class _LookedUp:
    """A query, the columns that name its rows, and whether any table is likely meant at all."""

    tried: TriedQuery | None
    naming: Mapping[Table, int] = field(default_factory=dict)
    meant: bool = False


class TableAnswers:
    """Computes over the tables that a scope sees, by queries of a writer; where there is none, by
    those that the ranker takes a question for, and is sure of."""

    def __init__(
        self,
        store: Store,
        scope: Scope,
        writer: Writer | None,
        caution: float,
        taught: bool,
        watch: Callable[[TriedQuery | None], None] | None = None,
        opener: TableOpener | None = None,
        ranker: QueryRanker | None = None,
    ) -> None:
        self._store, self._scope = store, scope
        self._ranker = ranker
        self._writer = writer
        self._caution = caution
        self._taught = taught
        self._watch = watch
        self._opener = opener or TableOpener()

    def answer(
        self,
        question: str,
        passages: Sequence[Passage],
        documents: Sequence[Document],
        language: str,
        cancelled: Cancelled,
        searched: str = "",
        before: Sequence[str] = (),
        least: float = 0.0,
        unranked: bool = True,
    ) -> Draft | None:
        """The draft with its computation, an abstention that names sheets it may be of, or None.

        `searched`: the question in the documents' language, by which tables are chosen, too;
        `before`: the documents of the answer on which the question leans; `least`: of all chances
        that the app's ranker gives to queries, with less its writer is not asked; `unranked`: a
        writer is asked where the ranker says nothing, too."""
        names = {document.id: document.name for document in documents}
        worded = f"{question} {searched}"
        choice = TableChoice(self._store, self._scope, documents, before)
        tables = choice.chosen(worded, passages)
        if not tables:
            return None
        language = language or language_of(question)
        asked = (question, searched, language, cancelled, least, unranked)
        try:
            with self._opener.opened(tables, names, self._store.tables) as opened:
                looked = self._looked_up(opened, *asked)
        except QueryError:  # they take more memory or time than they may
            return None
        tried = looked.tried
        if self._watch:
            self._watch(tried)
        used = tried.result.documents if tried else set()
        is_about = not self._caution or choice.is_about(worded, used, tables[0])
        if tried is None or tried.chance < self._caution or not is_about:
            return choice.which(worded, passages) if looked.meant else None
        draft = self._draft(tried, names, looked.naming, language)
        return choice.with_others(draft, tables, used)

    def _looked_up(
        self,
        opened: OpenTables,
        question: str,
        searched: str,
        language: str,
        cancelled: Cancelled,
        least: float,
        unranked: bool,
    ) -> _LookedUp:
        """What tables that are open give."""
        meant: list[Interpretation] = []
        if least and (self._taught or self._writer is None):
            meant = self._meant(question, searched, opened)
        if sum(one.chance for one in meant) < least if meant else not unranked:
            return _LookedUp(None)
        tried = self._computed(question, searched, opened, language, cancelled, meant)
        naming = naming_columns(tried.result, opened.database) if tried else {}
        return _LookedUp(tried, naming, not least or bool(meant))

    @property
    def has_writer(self) -> bool:
        """Whether there is one that can be asked for a query."""
        return self._writer is not None

    @property
    def has_taught_writer(self) -> bool:
        """Whether it is the app's own, which says first whether what it reads answers."""
        return self._writer is not None and self._taught

    def _computed(
        self,
        question: str,
        searched: str,
        opened: OpenTables,
        language: str,
        cancelled: Cancelled,
        meant: list[Interpretation],
    ) -> TriedQuery | None:
        """The writer's query, where it may be asked for one; else what the ranker is sure of. That
        makes the app's own writer surer, and speaks where another has nothing to say."""
        decides = any(form(one) is AnswerType.DECISION for one in (question, searched))
        if self._writer is not None:
            likelier = partial(self._likelier, question, searched, opened, meant)
            asking = partial(self._tried, question, opened, language, cancelled, decides, likelier)
            tried = asking(opened.described)
            if tried and self._taught:
                meant = meant or self._meant(question, searched, opened)
                found = [_agreed(tried, question, opened, meant)]
                with suppress(QueryError, ModelUnavailable):  # the first stands without it
                    if other := likelier(tried.sql):
                        again = asking(opened.described.of(other))
                        found += [_agreed(again, question, opened, meant)] if again else []
                return max(found, key=lambda one: one.chance)
            if tried or self._taught:
                return tried
        meant = [] if decides else meant or self._meant(question, searched, opened)
        if not meant or meant[0].leaves_out:
            return None
        with suppress(QueryError):
            return _interpreted(meant[0], searched or question, opened)
        return None

    def _tried(
        self,
        question: str,
        opened: OpenTables,
        language: str,
        cancelled: Cancelled,
        yes_or_no: bool,
        likelier: Callable[[str], str],
        described: Described,
    ) -> TriedQuery | None:
        """What the writer's query over what is described gives; once more if that is nothing."""
        messages = self._asking(question, described, language)
        sure, before, names = 1.0, "", figures(opened.database)
        for _ in range(TRIES):
            heard, each = list[float](), list[tuple[str, float]]()
            reply = self._reply(messages, cancelled, heard.append, each.extend)
            understood = understood_query(reply)
            if understood is None or cancelled() or _asks_less(understood[0], before):
                return None
            sure = min(sure, heard[0] if heard else _UNKNOWN)
            try:
                sql = _whole(*understood, question, opened)
                sql, result, said = _ran(sql, question, opened.database, described, yes_or_no)
                apart = units_apart(sql, opened.database) if result.says_something else None
            except _Unknown:
                return None
            except _OfOtherTable as error:  # it mixed them up: it sees that one alone
                before, messages = "", self._asking(question, described.of(error.table), language)
                continue
            except QueryError as error:
                before, other = understood[0], likelier(understood[0])
                messages = [*messages, ("ai", reply), ("human", f"{error}\n{_AGAIN}")]
                if other:  # it sees what the ranker holds for meant, alone
                    before, messages = "", self._asking(question, described.of(other), language)
                continue
            say = told_alone(said or understood[1], f"{question} {described.text} {sql}")
            of, read = sure_of_columns(each, names), tuple(o.table for o in opened.database.tables)
            tried = TriedQuery(sql, say, result, sure, read, sure_of_columns=of)
            return _read_otherwise(tried, apart, question, opened)
        return None

    def _likelier(
        self,
        question: str,
        searched: str,
        opened: OpenTables,
        meant: list[Interpretation],
        sql: str,
    ) -> str:
        """The table that the ranker holds for meant, if a query reads others; empty: there is none.
        What the ranker takes the question for comes into `meant`."""
        if not self._taught or len(opened.database.tables) < 2:
            return ""
        with suppress(QueryError, ModelUnavailable):
            meant[:] = meant or self._meant(question, searched, opened)
            other = likeliest_table(meant, opened.database)
            return other if other not in tables_read(opened.database.tree(sql)) else ""
        return ""

    def _asking(self, question: str, told: Described, language: str) -> list[Message]:
        return query_messages(question, told.text, told.named(question), language, self._taught)

    def _meant(self, question: str, searched: str, opened: OpenTables) -> list[Interpretation]:
        """What the ranker takes a question for; nothing, where it cannot tell. It reads the wording
        of which it is surer: a sheet may be in another language than most documents."""
        if self._ranker is None:
            return []
        readings = []
        for wording in dict.fromkeys(filter(None, (question, searched))):
            with suppress(ModelUnavailable, QueryError):  # the writer's query stands without it
                readings.append(self._ranker.interpretations(wording, opened.database))
        return max(readings, key=lambda found: found[0].chance if found else 0.0, default=[])

    def _reply(
        self,
        messages: Sequence[Message],
        cancelled: Cancelled,
        hear: Callable[[float], None],
        hear_each: Callable[[Tokens], None],
    ) -> str:
        """What the writer says; no more than its first word if that is that there is nothing."""
        if self._writer is None:
            return ""
        return said_by(
            self._writer.write_on("", lambda _: messages, hear, cancelled, hear_each)
            if self._taught
            else self._writer.write(lambda _: messages, cancelled)
        )

    def _draft(
        self,
        tried: TriedQuery,
        names: dict[str, str],
        naming: Mapping[Table, int],
        language: str,
    ) -> Draft:
        result = upright(tried.result, tried.tables)
        if result is not tried.result:  # the sentence around one row knows some of its columns
            tried = replace(tried, say="{rows}")

        @cache
        def text_of(document: str, page: int) -> str:
            return self._store.page(document, page, self._scope).text

        result = as_written(result, self._store.tables, text_of)
        used = rows_used(result, names, naming, self._store.tables, text_of)
        computed = computation(tried.sql, result, result.operations, used, language, tried.tables)
        sentences = _said(replace(tried, result=result), language)
        return Draft(
            sentences=sentences,
            evidence=((),) * len(sentences),
            confidence=tried.chance,
            basis=Basis.COMPUTED,
            notes=tried.notes,
            computation=computed,
        )


def _asks_less(sql: str, before: str) -> bool:
    """Whether a query leaves out what the one before it held rows against: what is in no row is
    not to be answered from others."""
    return len(_LITERAL.findall(sql)) < len(_LITERAL.findall(before))


class _OfOtherTable(QueryError):
    """A query rests on what another table has."""

    def __init__(self, message: str, table: str) -> None:
        super().__init__(message)
        self.table = table  # as queries call it


class _Unknown(QueryError):
    """A query rests on a text that no row has: what is asked for is not there."""


def _of_units(tried: TriedQuery, apart: UnitsApart, database: TableDatabase) -> TriedQuery:
    """A query whose figures are in several units: what comes of each, and a note that says so. The
    writer's sentence keeps no currency: it is not that of every part."""
    column = apart.column.column.name
    said = [
        SaidOfUnit(
            f"{column}: {part.unit or NOTHING}", part.result, names_of_rows(part.result, database)
        )
        for part in apart.parts
    ]
    units = (unit or NOTHING for unit in apart.column.units)
    return replace(
        tried,
        sql=apart.sql,
        say=without_unknown_money(tried.say, ""),
        result=apart.result,
        apart=said,
        notes=(Note(NoteKind.SEVERAL_UNITS, (column, *units)),),
    )


def _said(tried: TriedQuery, language: str) -> tuple[str, ...]:
    """The sentence around a result; each, where it can be read in two ways or is in several
    units."""
    if tried.apart:
        each = [
            f"{one.name} – {sentence(tried.say, with_names(one.result, one.called), language)}"
            for one in tried.apart
        ]
        return (*(f"{one}\n\n" for one in each[:-1]), each[-1])
    shown = as_headed(with_names(tried.result, tried.called), tried.tables)
    own = sentence(tried.say, shown, language)
    if tried.by_sheet:
        figures = [f"{name}: {first_said(one, language)}" for name, one in tried.by_sheet.items()]
        own = f"{own} ({'; '.join(figures)})"
    if tried.other is None:
        return (own,)
    other = sentence(tried.say, tried.other.result, language)
    return (f"{tried.other.own_name} – {own}\n\n", f"{tried.other.name} – {other}")


def _otherwise(
    question: str, sql: str, result: Result, database: TableDatabase, described: Described
) -> OtherReading | None:
    """Another reading of a query that gives something else: the text that rows were chosen by
    stands in a second column, too, and the question says the text and names neither of the two
    columns. Where each row has a text of its own in the first, that is what the row is called."""
    asked = compared(question)
    for condition in result.conditions:
        holding = [
            column
            for (opened, column), values in described.values.items()
            if any(o.sql_name == condition.column for o in opened.table.columns)
            and condition.text.lower() in map(str.lower, values)
            and not (column.sql_name == condition.column and len(values) == opened.table.rows)
        ]
        own = [column for column in holding if column.sql_name == condition.column]
        if len(holding) != 2 or len(own) != 1 or not alike(compared(condition.text), asked):
            continue
        (rival,) = (column for column in holding if column is not own[0])
        if any(alike(compared(column.name), asked) for column in holding):
            continue
        with suppress(QueryError):
            found = database.run(of_column(sql, condition, rival.sql_name))
            if found.rows != result.rows and _counts_something(found):
                own_name, name = (f"{each.name}: {condition.text}" for each in (own[0], rival))
                return OtherReading(own_name, name, found)
    return None


def _agreed(
    tried: TriedQuery, question: str, opened: OpenTables, meant: Sequence[Interpretation]
) -> TriedQuery:
    """A query with the ranker's second opinion."""
    if turned := other_way_round(tried.sql, tried.say, values_of(tried.result), meant):
        tried = replace(tried, sql=turned, result=opened.database.run(turned))
    agrees = agreement(values_of(tried.result), meant) if meant else None
    return _of_both_columns(replace(tried, agrees=agrees), question, opened, meant)


def _of_both_columns(
    tried: TriedQuery, question: str, opened: OpenTables, meant: Sequence[Interpretation]
) -> TriedQuery:
    """A query whose writer hesitated over its column of figures, with what the other column gives,
    if a row has a figure in one of the two only and the question names neither: nothing in a cash
    book is called "spent"."""
    if tried.sure_of_columns >= _HESITATES or tried.other or tried.apart:
        return tried
    asked = [word for word in compared(question) if word not in STOPWORDS]
    database = opened.database
    with suppress(QueryError):
        pair = either_or(tried.sql, database)
        if pair is None or any(alike(compared(column.name), asked) for column in pair):
            return tried
        own, other = pair
        result = database.run(with_column(tried.sql, own, other, database))
        if result.rows != tried.result.rows and result.says_something:
            known = tried.agrees
            if known is not None:
                known += agreement(values_of(result), meant)
            reading = OtherReading(own.name, other.name, result)
            both = replace(tried, other=reading, sure_of_columns=1.0, agrees=known)
            return _beside_each_other(both, own, other, database)
    return tried


def _beside_each_other(
    tried: TriedQuery, own: Column, other: Column, database: TableDatabase
) -> TriedQuery:
    """Two readings of one query as one, where it gives several rows: a column of each."""
    sql = with_column_beside(tried.sql, own, other, database)
    if len(tried.result.rows) < 2 or not sql:
        return tried
    say = re.sub(r"[{}]", "", f"{own.name}, {other.name}: ") + "{rows}"
    return replace(tried, sql=sql, result=database.run(sql), say=say, other=None)


def _whole(sql: str, say: str, question: str, opened: OpenTables) -> str:
    """The query as it is to be run. Raises QueryError for one that leaves out what was asked."""
    better = mended(sql, question, opened.database)
    if table := belongs_to(better, opened.database):
        raise _OfOtherTable(f"The columns of the query are in {table}.", table)
    if reason := unfounded(better, opened.database):
        raise QueryError(reason)
    described, database = opened.described, opened.database
    for condition in described.left_out(database.tree(better), question, say):
        better = database.narrowed(better, *condition)
    missing = left_out(better, question, described.titles, database)
    if missing and (of_one := of_month(better, missing, question, database)) != better:
        better, missing = of_one, left_out(of_one, question, described.titles, database)
    if missing:
        raise QueryError(f"The query leaves out {missing}.")
    return better


def _interpreted(meant: Interpretation, question: str, opened: OpenTables) -> TriedQuery:
    """What the ranker takes a question for, run. Raises QueryError."""
    sql, database = meant.candidate.sql, opened.database
    asked = tuple(one.table for one in database.tables)
    chance = (_ALONE if len(asked) == 1 else _AMONG) * meant.chance
    own = TriedQuery(sql, said_of(meant.candidate), database.run(sql), 1.0, asked, ranked=chance)
    return _read_otherwise(own, units_apart(sql, database), question, opened)


def _read_otherwise(
    tried: TriedQuery, apart: UnitsApart | None, question: str, opened: OpenTables
) -> TriedQuery:
    """A query with what else is to be said: of each unit, of another reading, what rows are
    called."""
    database = opened.database
    if apart is not None:
        return _of_units(tried, apart, database)
    other = _otherwise(question, tried.sql, tried.result, database, opened.described)
    called = names_of_rows(tried.result, database)
    by_sheet = {} if other else figure_by_sheet(tried.sql, tried.result, database)
    return replace(tried, other=other, called=called, by_sheet=by_sheet)


def _counts_something(result: Result) -> bool:
    return result.says_something and any(value for row in result.rows for value in row)


def _ran(
    sql: str, question: str, database: TableDatabase, described: Described, yes_or_no: bool
) -> tuple[str, Result, str]:
    """The query as it was run, its result, and the sentence for one of another column than the
    writer's; empty: its own. Raises QueryError where it cannot be run or gives nothing, _Unknown
    where it rests on a text that no row has, or passes over a total.

    That no row is found answers a question of `yes_or_no`."""
    result = database.run(sql)
    better = described.with_known_texts(sql, result.conditions)
    if any(None in row for row in result.rows):
        better = database.of_named_groups(better)
    if better != sql:
        sql, result = better, database.run(better)
    if described.passes_over(question, result.conditions):
        raise _Unknown("The question names a total, and the query another row.")
    if reason := no_share(sql, result):
        raise QueryError(reason)
    if other := described.named_instead(question, result.conditions):
        raise QueryError(f"The question names “{other}”, and the query does not.")
    for condition in result.conditions:
        if described.nearest(condition) is None:
            said = f"No row has “{condition.text}” in {condition.column}"
            if others := described.elsewhere(condition):
                (holding, *more) = {one.partition(".")[0] for one in others}
                if not more and holding not in tables_read(database.tree(sql)):
                    raise _OfOtherTable(f"{said}; {holding} has it.", holding)
                raise QueryError(f"{said}; rows have it in {', '.join(others)}.")
            raise _Unknown(f"{said}.")
    seen = upright(result, [one.table for one in database.tables])
    if seen.decides if yes_or_no else seen.says_something:
        return sql, result, ""
    return in_the_filled_column(sql, question, database)
