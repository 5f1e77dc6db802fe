"""The behavioural suite of the source port: what every adapter must do, whatever it reads from.

An adapter's tests subclass `SourceSuite`, give a fixture `stage`, and say in `features` what the adapter can do beyond
the least; they are then tested on exactly that. A stage is a real source of its own, filled by the suite. The suite
must not know any adapter.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, Final, Protocol, cast

import orjson
import pytest

from tminus.ports.source import Answer, Question, Source, SourceError, Unchanged
from tminus.runbook.model import DataSource, MultiFormat, MultiValued

if TYPE_CHECKING:
    from collections.abc import Sequence

COLUMNS: Final = ("Key", "Wave", "Name", "Tags")
WAVE: Final = "2026-12-04 22:00"
MANY: Final = 5_000
CHUNK_ROWS_MAX: Final = 2_000
FINGERPRINT_MAX: Final = 500

HOSTILE: Final = (
    "=cmd|'/C calc'!A0",
    "{{Key}}",
    'say "hi", twice',
    "one\ntwo\r\nthree",
    "'; DROP TABLE batches; --",
    " blanks ",
    "Ünal 李 😀 \u202e",
    "NULL",
    "\\",
)


class Feature(StrEnum):
    """What an adapter can do beyond the least."""

    UNCHANGED = "unchanged"
    """It can tell that nothing changed."""
    NULLS = "nulls"
    """It can tell NULL from empty text."""


class Stage(Protocol):
    """One source to play on. `secret` is text that is known to the adapter and must never be shown."""

    @property
    def source(self) -> Source:
        """The adapter."""
        ...

    @property
    def data_source(self) -> DataSource:
        """What a runbook would say of it, with key column `Key` and time column `Wave`."""
        ...

    @property
    def secret(self) -> str:
        """Part of the connection."""
        ...

    def fill(self, columns: Sequence[str], rows: Sequence[Sequence[str | None]]) -> None:
        """Replace the source's table."""
        ...

    def spoil(self, how: str) -> None:
        """Make an answer impossible in one of the ways that the suite's subclass names."""
        ...


class SourceSuite:
    """Subclass it, with a fixture `stage`."""

    features: ClassVar[frozenset[Feature]] = frozenset()
    spoilers: ClassVar[tuple[str, ...]] = ()

    def test_an_answer_is_the_table_in_its_order(self, stage: Stage) -> None:
        """Rows, columns and places are the source's own; nothing is sorted, renamed or left out."""
        stage.fill(COLUMNS, [("b", WAVE, "Bob", ""), ("a", WAVE, "Ann", "x")])
        with answer_of(stage) as answer:
            assert answer.columns == COLUMNS
            assert answer.complete
            assert not answer.problems
            assert [row.key for row in answer.rows] == ["b", "a"]
            rows = [orjson.loads(row.data) for row in answer.rows]
            assert rows == [
                {"Key": "b", "Wave": WAVE, "Name": "Bob", "Tags": ""},
                {"Key": "a", "Wave": WAVE, "Name": "Ann", "Tags": "x"},
            ]
            assert [list(row) for row in rows] == [list(COLUMNS), list(COLUMNS)]
            assert len({row.place for row in answer.rows}) == len(answer.rows)

    def test_asking_changes_nothing(self, stage: Stage) -> None:
        """A question may be asked again at any time, by anybody."""
        stage.fill(COLUMNS, [("a", WAVE, "Ann", ""), ("", WAVE, "", "")])
        with answer_of(stage) as first, answer_of(stage) as second:
            assert list(first.rows) == list(second.rows)
            assert first.problems == second.problems
            assert first.fingerprint == second.fingerprint

    def test_many_rows_come_in_chunks(self, stage: Stage) -> None:
        """Whoever stores the rows takes them in lists, and gets each row once."""
        stage.fill(COLUMNS, [(f"k{number}", WAVE, "x", "") for number in range(MANY)])
        with answer_of(stage) as answer:
            keys = [f"k{number}" for number in range(MANY)]
            chunks = [[row.key for row in chunk] for chunk in answer.rows.chunks()]
            assert len(answer.rows) == MANY
            assert [key for chunk in chunks for key in chunk] == keys
            assert all(0 < len(chunk) <= CHUNK_ROWS_MAX for chunk in chunks)
            assert [row.key for row in answer.rows] == keys

    def test_no_rows_are_an_answer(self, stage: Stage) -> None:
        """An empty table is something else than no answer: it is complete, and says that nobody is there."""
        stage.fill(COLUMNS, [])
        with answer_of(stage) as answer:
            assert answer.columns == COLUMNS
            assert answer.complete
            assert len(answer.rows) == 0
            assert list(answer.rows.chunks()) == []

    @pytest.mark.parametrize("text", HOSTILE)
    def test_text_is_kept_as_it_is(self, stage: Stage, text: str) -> None:
        """Text is data: nobody trims, expands or neutralises it on the way in."""
        stage.fill(COLUMNS, [("a", WAVE, text, "")])
        with answer_of(stage) as answer:
            assert [cell(row.data, "Name") for row in answer.rows] == [text]

    def test_null_is_not_empty_text(self, stage: Stage) -> None:
        """Empty text is a value, NULL is none; a template treats them differently from a missing name."""
        if Feature.NULLS not in self.features:
            pytest.skip("the adapter does not declare `nulls`")
        stage.fill(COLUMNS, [("a", WAVE, None, ""), ("b", WAVE, "", "")])
        with answer_of(stage) as answer:
            assert [cell(row.data, "Name") for row in answer.rows] == [None, ""]

    def test_of_two_rows_with_one_key_the_first_counts(self, stage: Stage) -> None:
        """A duplicate is visible and costs nobody else; its key is not gone."""
        stage.fill(COLUMNS, [("a", WAVE, "first", ""), ("b", WAVE, "", ""), (" a ", WAVE, "second", "")])
        with answer_of(stage) as answer:
            assert [row.key for row in answer.rows] == ["a", "b"]
            assert cell(next(iter(answer.rows)).data, "Name") == "first"
            assert codes(answer) == ["E336"]
            assert answer.failed_keys == {"a"}

    @pytest.mark.parametrize("twin", ["ANN", "\uff41\uff4e\uff4e", "an\u200bn", "\u202aann"])
    def test_of_twin_keys_the_first_counts(self, stage: Stage, twin: str) -> None:
        """Two members that look the same on every screen would end in one being cleaned up by mistake."""
        stage.fill(COLUMNS, [("ann", WAVE, "first", ""), (twin, WAVE, "second", "")])
        with answer_of(stage) as answer:
            assert [row.key for row in answer.rows] == ["ann"]
            assert codes(answer) == ["E337"]
            assert answer.failed_keys == {twin}

    def test_a_row_without_key_is_left_out(self, stage: Stage) -> None:
        """It is about nobody, so that nobody's absence is hidden by it."""
        stage.fill(COLUMNS, [("", WAVE, "x", ""), ("b", WAVE, "y", "")])
        with answer_of(stage) as answer:
            assert [row.key for row in answer.rows] == ["b"]
            assert codes(answer) == ["E333"]
            assert answer.failed_keys == frozenset()

    def test_a_row_whose_time_cannot_be_read_is_left_out_and_not_gone(self, stage: Stage) -> None:
        """A typing error in a date must never look like a leaver."""
        stage.fill(COLUMNS, [("a", "soon", "", "x"), ("b", WAVE, "", ""), ("c", "", "", "x")])
        with answer_of(stage) as answer:
            assert [row.key for row in answer.rows] == ["b"]
            assert codes(answer) == ["E339", "E338"]
            assert answer.failed_keys == {"a", "c"}
            assert answer.complete

    def test_a_time_is_read_in_the_zone_and_cut_to_the_second(self, stage: Stage) -> None:
        """A batch's identity is its time to the second, wherever the source runs."""
        stage.fill(COLUMNS, [("a", WAVE, "", ""), ("b", "2026-12-04T22:00:00.750+09:00", "", "")])
        with answer_of(stage, Question(data_source=stage.data_source, timezone="Europe/Berlin")) as answer:
            assert [row.batch_time for row in answer.rows] == ["2026-12-04T21:00:00.000Z", "2026-12-04T13:00:00.000Z"]

    def test_an_immediate_batch_has_no_time(self, stage: Stage) -> None:
        """The engine chooses the time, so that no column is looked for."""
        stage.fill(("Key", "Name"), [("a", "Ann")])
        source = replace(stage.data_source, batch_time_column=None, immediate=True)
        with answer_of(stage, Question(data_source=source)) as answer:
            assert [row.batch_time for row in answer.rows] == [None]

    @pytest.mark.parametrize(
        ("form", "text", "items"),
        [
            ("semicolon_delimited", "a; b ;;c", ["a", "b", "c"]),
            ("comma_delimited", "a, b ,,c", ["a", "b", "c"]),
            ("json_array", '["a", {"n": 1}]', ["a", {"n": 1}]),
            ("json_array", "", []),
        ],
    )
    def test_a_multi_valued_column_is_an_array(
        self, stage: Stage, form: MultiFormat, text: str, items: list[object]
    ) -> None:
        """Workers get arrays, whatever the source stores."""
        stage.fill(COLUMNS, [("a", WAVE, "", text)])
        with answer_of(stage, with_list(stage, form)) as answer:
            assert [cell(row.data, "Tags") for row in answer.rows] == [items]

    def test_a_malformed_array_fails_its_row(self, stage: Stage) -> None:
        """Half a list would be acted upon as if it were whole."""
        stage.fill(COLUMNS, [("a", WAVE, "", '["x"'), ("b", WAVE, "", "[]")])
        with answer_of(stage, with_list(stage, "json_array")) as answer:
            assert [row.key for row in answer.rows] == ["b"]
            assert codes(answer) == ["E340"]
            assert answer.failed_keys == {"a"}

    @pytest.mark.parametrize(("missing", "code"), [("Key", "E318"), ("Wave", "E319")])
    def test_a_table_without_a_required_column_is_no_answer(self, stage: Stage, missing: str, code: str) -> None:
        """A renamed column must not look like a table without members."""
        columns = [name for name in COLUMNS if name != missing]
        stage.fill(columns, [("x", "y", "z")])
        with pytest.raises(SourceError) as caught:
            stage.source.ask(Question(data_source=stage.data_source))
        assert caught.value.code == code

    def test_a_spoilt_source_gives_an_error_and_recovers(self, stage: Stage) -> None:
        """No outage is ever an empty table, with or without a fingerprint, and none outlasts its cause."""
        assert self.spoilers
        for how in self.spoilers:
            stage.fill(COLUMNS, [("a", WAVE, "Ann", ""), ("b", WAVE, "Bob", "")])
            with answer_of(stage) as answer:
                known = answer.fingerprint
            stage.spoil(how)
            for question in (Question(data_source=stage.data_source), asked_with(stage, known)):
                with pytest.raises(SourceError) as caught:
                    stage.source.ask(question)
                assert caught.value.problems
                assert stage.secret not in f"{caught.value} {caught.value.problems}"
            stage.fill(COLUMNS, [("c", WAVE, "Cem", "")])
            with answer_of(stage) as answer:
                assert [row.key for row in answer.rows] == ["c"]

    def test_what_is_wrong_with_rows_tells_no_secret(self, stage: Stage) -> None:
        """Problems are shown to everybody who may read."""
        stage.fill(COLUMNS, [("", "", "", "x"), ("a", "soon", "", "")])
        with answer_of(stage) as answer:
            assert stage.secret not in f"{answer.problems} {answer.notes} {answer.fingerprint}"

    def test_unchanged_is_said_of_the_same_table_only(self, stage: Stage) -> None:
        """A change that is overlooked is a member that is never moved."""
        stage.fill(COLUMNS, [("a", WAVE, "Ann", "")])
        with answer_of(stage) as answer:
            known = answer.fingerprint
        reply = stage.source.ask(asked_with(stage, known))
        if Feature.UNCHANGED not in self.features:
            assert isinstance(reply, Answer)
            reply.close()
            return
        assert reply == Unchanged(fingerprint=known)
        stage.fill(COLUMNS, [("a", WAVE, "Eva", "")])
        with answer_of(stage, asked_with(stage, known)) as changed:
            assert [cell(row.data, "Name") for row in changed.rows] == ["Eva"]

    def test_unchanged_is_never_said_to_another_question(self, stage: Stage) -> None:
        """A new version of a runbook asks differently, and rows follow the question."""
        stage.fill(COLUMNS, [("a", WAVE, "Ann", "")])
        with answer_of(stage) as answer:
            known = answer.fingerprint
        for other in (
            Question(data_source=stage.data_source, timezone="Asia/Tokyo", known=known),
            Question(data_source=replace(stage.data_source, primary_key="Name"), known=known),
            replace(with_list(stage, "comma_delimited"), known=known),
            Question(data_source=stage.data_source, known="nothing that was ever said"),
            Question(data_source=stage.data_source),
        ):
            answer_of(stage, other).close()

    def test_fingerprints_are_short_text(self, stage: Stage) -> None:
        """They are stored with the runbook and shown."""
        stage.fill(COLUMNS, [("a", WAVE, "Ann", "")])
        with answer_of(stage) as answer:
            assert len(answer.fingerprint) <= FINGERPRINT_MAX
            assert answer.fingerprint.isprintable()

    def test_closing_twice_does_nothing(self, stage: Stage) -> None:
        """A `with` statement may follow a close."""
        stage.fill(COLUMNS, [("a", WAVE, "Ann", "")])
        answer = answer_of(stage)
        answer.close()
        answer.close()


def answer_of(stage: Stage, question: Question | None = None) -> Answer:
    """Ask and expect an answer."""
    reply = stage.source.ask(question or Question(data_source=stage.data_source))
    assert isinstance(reply, Answer)
    return reply


def asked_with(stage: Stage, known: str) -> Question:
    """Build the usual question with a fingerprint."""
    return Question(data_source=stage.data_source, known=known)


def with_list(stage: Stage, form: MultiFormat) -> Question:
    """Build a question in which `Tags` is a list."""
    source = replace(stage.data_source, multi_valued_columns=(MultiValued(name="Tags", format=form),))
    return Question(data_source=source)


def codes(answer: Answer) -> list[str]:
    """Return the codes of the rows that were left out."""
    assert answer.problem_count == len(answer.problems)
    return [problem.code for problem in answer.problems]


def cell(data: str, column: str) -> object:
    """Return one value of a row."""
    return cast("dict[str, object]", orjson.loads(data))[column]
