"""The CSV source as the engine meets it: what it reads, when it refuses, and when it says that nothing changed."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tminus.ports.source import Answer, Question, SourceError, Unchanged
from tminus.runbook.model import DataSource, MultiValued
from tminus.sources import csv as csv_source
from tminus.sources import reading as reading_module
from tminus.sources.csv import CsvSource
from tminus.sources.reading import CsvLimits, Reading
from tminus.sources.still import Patience

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tminus.sources.still import Look

MODIFIED_S = 1_700_000_000
HEADER = b"Key,Name,When\n"
TABLE = HEADER + b"a,Ann,2026-12-04\nb,Bob,2026-12-04\n"


BASIC = DataSource(type="csv", primary_key="Key", connection="MEMBERS", batch_time_column="When")


def question(known: str | None = None, data_source: DataSource = BASIC, zone: str = "UTC") -> Question:
    return Question(data_source=data_source, timezone=zone, known=known)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "members.csv"
    write(file, TABLE)
    return file


def write(file: Path, content: bytes, modified_s: float = MODIFIED_S) -> None:
    file.write_bytes(content)
    os.utime(file, (modified_s, modified_s))


def no_pause(_: float) -> None:
    raise AssertionError("the file is old enough, there is nothing to wait for")


def source_of(
    path: Path,
    *,
    clock: Callable[[], float] = lambda: MODIFIED_S + 10,
    pause: Callable[[float], None] = no_pause,
    limits: CsvLimits | None = None,
) -> CsvSource:
    return CsvSource(
        {"MEMBERS": str(path)}.get, limits=limits or CsvLimits(), patience=Patience(clock=clock, pause=pause)
    )


def answer_of(source: CsvSource, asked: Question | None = None) -> Answer:
    reply = source.ask(asked or question())
    assert isinstance(reply, Answer)
    return reply


def refused(source: CsvSource, asked: Question | None = None) -> SourceError:
    with pytest.raises(SourceError) as caught:
        source.ask(asked or question())
    return caught.value


class TestAnswer:
    def test_holds_rows_with_places(self, path: Path) -> None:
        with answer_of(source_of(path)) as answer:
            assert answer.columns == ("Key", "Name", "When")
            assert [(row.key, row.place) for row in answer.rows] == [("a", "members.csv:2"), ("b", "members.csv:3")]
            assert answer.complete

    def test_tells_who_was_left_out(self, path: Path) -> None:
        write(path, TABLE + b"c,Cem,soon\nA,Anna,2026-12-04\n")
        with answer_of(source_of(path)) as answer:
            assert [row.key for row in answer.rows] == ["a", "b"]
            assert answer.failed_keys == {"c", "A"}
            assert answer.complete
            assert str(answer.problems[0]).startswith('members.csv:4: E339 "soon" is not a time - ')

    def test_keeps_a_thousand_problems_and_counts_all(self, path: Path) -> None:
        write(path, HEADER + b"".join(b"k%d,x,\n" % n for n in range(1_500)))
        with answer_of(source_of(path)) as answer:
            assert len(answer.problems) == 1_000
            assert answer.problem_count == 1_500
            assert len(answer.failed_keys) == 1_500

    def test_an_error_midway_tells_also_the_rows_before(self, path: Path) -> None:
        write(path, HEADER + b'a,Ann,soon\nb,"Bob,x\n')
        error = refused(source_of(path))
        assert [(problem.code, problem.place) for problem in error.problems] == [
            ("E339", "members.csv:2"),
            ("E310", "members.csv:3"),
        ]
        assert error.code == "E310"


class TestConnection:
    def test_must_be_named(self, path: Path) -> None:
        assert refused(source_of(path), question(data_source=replace(BASIC, connection=None))).code == "E301"

    @pytest.mark.parametrize("stored", [None, "", "  "])
    def test_must_be_set(self, stored: str | None) -> None:
        with pytest.raises(SourceError, match="MEMBERS is not set") as caught:
            CsvSource(lambda _: stored).ask(question())
        assert caught.value.code == "E301"

    def test_is_a_name_and_not_the_path_itself(self) -> None:
        asked = question(data_source=replace(BASIC, connection="./members.csv"))
        with pytest.raises(SourceError, match="connection names a variable of the environment"):
            CsvSource(lambda _: None).ask(asked)


class TestFile:
    def test_must_be_there(self, tmp_path: Path) -> None:
        assert refused(source_of(tmp_path / "none.csv")).code == "E302"

    def test_below_a_file_is_not_there(self, path: Path) -> None:
        assert refused(source_of(path / "none.csv")).code == "E302"

    def test_is_no_directory(self, tmp_path: Path) -> None:
        assert refused(source_of(tmp_path)).code == "E305"

    def test_is_no_pipe(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        assert refused(source_of(tmp_path / "pipe")).code == "E305"

    def test_is_no_circle_of_links(self, tmp_path: Path) -> None:
        (tmp_path / "a").symlink_to(tmp_path / "a")
        assert refused(source_of(tmp_path / "a")).code == "E305"

    def test_has_a_possible_name(self, tmp_path: Path) -> None:
        error = refused(source_of(tmp_path / "a\0b"))
        assert error.code == "E305"
        assert error.place == "a?b"

    def test_may_break_while_it_is_read(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(*_: object, **__: object) -> Reading:
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(csv_source, "read_csv", broken)
        error = refused(source_of(path))
        assert (error.code, error.message) == ("E305", "the file cannot be read: Input/output error")


class TestLimits:
    def test_bytes_are_refused_unread(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(csv_source, "read_file", None)
        assert refused(source_of(path, limits=CsvLimits(bytes_max=len(TABLE) - 1))).code == "E313"

    def test_are_inclusive(self, path: Path) -> None:
        limits = CsvLimits(bytes_max=len(TABLE), rows_max=2, columns_max=3)
        with answer_of(source_of(path, limits=limits)) as answer:
            assert len(answer.rows) == 2

    def test_rows(self, path: Path) -> None:
        assert refused(source_of(path, limits=CsvLimits(rows_max=1))).code == "E312"

    def test_columns(self, path: Path) -> None:
        assert refused(source_of(path, limits=CsvLimits(columns_max=2))).code == "E314"


class TestStandingStill:
    def test_a_young_file_is_watched_for_a_second(self, path: Path) -> None:
        pauses: list[float] = []
        with answer_of(source_of(path, clock=lambda: MODIFIED_S + 0.5, pause=pauses.append)) as answer:
            assert len(answer.rows) == 2
        assert pauses == [1.0]

    def test_a_file_from_the_future_is_watched(self, path: Path) -> None:
        pauses: list[float] = []
        answer_of(source_of(path, clock=lambda: MODIFIED_S - 3_600, pause=pauses.append)).close()
        assert pauses == [1.0]

    def test_a_file_that_keeps_growing_is_no_answer(self, path: Path) -> None:
        def grow(_: float) -> None:
            with path.open("ab") as stream:
                stream.write(b"c,Cem,2026-12-04\n")

        assert refused(source_of(path, clock=lambda: 0, pause=grow)).code == "E303"

    def test_a_file_that_is_rewritten_at_the_same_size_is_no_answer(self, path: Path) -> None:
        def rewrite(_: float) -> None:
            write(path, TABLE, path.stat().st_mtime + 1)

        assert refused(source_of(path, clock=lambda: 0, pause=rewrite)).code == "E303"

    def test_a_file_that_stops_growing_is_read_to_its_end(self, path: Path) -> None:
        pauses: list[float] = []

        def grow_once(seconds: float) -> None:
            pauses.append(seconds)
            if len(pauses) == 1:
                with path.open("ab") as stream:
                    stream.write(b"c,Cem,2026-12-04\n")

        with answer_of(source_of(path, clock=lambda: 0, pause=grow_once)) as answer:
            assert len(answer.rows) == 3
        assert len(pauses) == 2

    def test_a_file_written_before_it_was_opened_is_no_answer(self, path: Path) -> None:
        def write_behind() -> float:
            write(path, TABLE + b"c,Cem,2026-12-04\n")
            return MODIFIED_S + 10

        assert refused(source_of(path, clock=write_behind)).code == "E303"

    def test_a_file_written_while_it_was_read_is_no_answer(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        read = reading_module.read_csv

        def disturbed(*args: object, **kwargs: object) -> Reading:
            reading: Reading = read(*args, **kwargs)  # type: ignore[arg-type]  # Handed through as it came.
            write(path, TABLE.replace(b"Ann", b"Eva"))
            return reading

        monkeypatch.setattr(csv_source, "read_csv", disturbed)
        assert refused(source_of(path)).code == "E303"

    def test_a_file_replaced_while_it_was_read_gives_the_old_table(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        read = csv_source.read_file

        def replaced(file: Path, look: Look, asked: Question, *, limits: CsvLimits) -> Reading:
            reading = read(file, look, asked, limits=limits)
            other = path.with_suffix(".new")
            write(other, HEADER)
            other.replace(path)
            return reading

        monkeypatch.setattr(csv_source, "read_file", replaced)
        with answer_of(source_of(path)) as answer:
            assert len(answer.rows) == 2
        monkeypatch.undo()
        with answer_of(source_of(path), question(answer.fingerprint)) as newer:
            assert len(newer.rows) == 0


class TestUnchanged:
    def known(self, path: Path) -> str:
        with answer_of(source_of(path)) as answer:
            return answer.fingerprint

    def test_is_said_without_opening_the_file(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        known = self.known(path)
        monkeypatch.setattr(csv_source, "opened", None)
        assert source_of(path).ask(question(known)) == Unchanged(fingerprint=known)

    def test_is_said_of_a_file_written_again_with_the_same_content(self, path: Path) -> None:
        known = self.known(path)
        write(path, TABLE, MODIFIED_S + 1)
        reply = source_of(path).ask(question(known))
        assert isinstance(reply, Unchanged)
        assert reply.fingerprint != known
        assert source_of(path).ask(question(reply.fingerprint)) == reply

    def test_is_not_said_of_other_content_of_the_same_size(self, path: Path) -> None:
        known = self.known(path)
        write(path, TABLE.replace(b"Ann", b"Eva"), MODIFIED_S + 1)
        answer_of(source_of(path), question(known)).close()

    def test_is_not_fooled_by_a_time_of_change_set_back(self, path: Path) -> None:
        known = self.known(path)
        write(path, TABLE.replace(b"Ann", b"Eva"))
        answer_of(source_of(path), question(known)).close()

    def test_remembers_that_the_answer_was_not_complete(self, path: Path) -> None:
        write(path, TABLE + b"c\n")
        known = self.known(path)
        assert source_of(path).ask(question(known)) == Unchanged(fingerprint=known, complete=False)

    @pytest.mark.parametrize(
        "other",
        [
            replace(BASIC, primary_key="Name"),
            replace(BASIC, batch_time_column=None, immediate=True),
            replace(BASIC, multi_valued_columns=(MultiValued(name="Name", format="comma_delimited"),)),
        ],
    )
    def test_is_not_said_about_another_data_source(self, path: Path, other: DataSource) -> None:
        answer_of(source_of(path), question(self.known(path), other)).close()

    def test_is_not_said_in_another_zone(self, path: Path) -> None:
        answer_of(source_of(path), question(self.known(path), zone="Asia/Tokyo")).close()

    def test_is_not_said_under_other_limits(self, path: Path) -> None:
        assert refused(source_of(path, limits=CsvLimits(rows_max=1)), question(self.known(path))).code == "E312"

    @pytest.mark.parametrize(
        ("part", "spoilt"),
        [
            ("csv1", "csv0"),
            (" complete", ""),
            ("complete", "finished"),
            (" 1700000000", " x700000000"),
            (" 1700000000", " ²700000000"),
        ],
    )
    def test_is_not_said_to_a_fingerprint_that_cannot_be_read(self, path: Path, part: str, spoilt: str) -> None:
        known = self.known(path)
        assert part in known
        answer_of(source_of(path), question(known.replace(part, spoilt))).close()

    def test_fingerprints_are_short(self, path: Path) -> None:
        assert len(self.known(path)) <= 500

    def test_a_vanished_file_is_an_error(self, path: Path) -> None:
        known = self.known(path)
        path.unlink()
        assert refused(source_of(path), question(known)).code == "E302"
