"""One table, three uses: what is validated is what the schema describes and what the reference says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest
import yaml
from jsonschema import Draft202012Validator

from tests.unit.runbook.samples import CORPUS, small, valid_files
from tminus.domain.codes import CATALOGUE, merged, runbook
from tminus.runbook import parse
from tminus.runbook.schema import TABLES, json_schema, reference_table

if TYPE_CHECKING:
    from collections.abc import Mapping

REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "runbook.md"
ROOM = Path(__file__).parents[3] / "src" / "tminus" / "runbook"


class Checker(Protocol):
    """What is used of a schema checker."""

    def is_valid(self, instance: Mapping[str, str | list[str]]) -> bool:
        """Tell whether an instance keeps to the schema."""
        ...


VALIDATOR: Checker = Draft202012Validator(json_schema())


class TextLoader(yaml.SafeLoader):
    """Reads as an editor's schema checker does: dates stay text."""


TextLoader.add_constructor("tag:yaml.org,2002:timestamp", lambda _loader, node: str(node.value))


def test_the_schema_is_a_schema_and_is_json() -> None:
    Draft202012Validator.check_schema(json_schema())
    assert json.loads(json.dumps(json_schema())) == json_schema()


@pytest.mark.parametrize("path", valid_files(), ids=lambda path: path.name)
def test_the_schema_takes_every_valid_file(path: Path) -> None:
    if path.name == "toolkit-immediate.yaml":
        pytest.skip("its letter case and its number for text are forgiven by validation, not praised by editors")
    found = yaml.load(path.read_text(encoding="utf-8"), TextLoader)  # noqa: S506 - a safe loader of this file.
    assert VALIDATOR.is_valid(found)


@pytest.mark.parametrize(
    "file",
    [
        "unknown-key-in-step",
        "unknown-key-in-poll",
        "unknown-key-in-leavers",
        "offset-without-unit",
        "offset-units-turned-round",
        "duration-unknown-unit",
        "duration-fraction",
        "phases-missing",
        "steps-empty",
        "poll-without-timeout",
        "source-type-unknown",
        "ring-zero",
        "limit-zero",
        "inputs-twice",
        "inputs-with-underscore",
        "deadline-text",
        "retry-negative",
        "overlap-number",
    ],
)
def test_the_schema_refuses_what_it_can_see(file: str) -> None:
    found = yaml.load((CORPUS / "semantic" / f"{file}.yaml").read_text(encoding="utf-8"), TextLoader)  # noqa: S506 - as above.
    assert not VALIDATOR.is_valid(found)


def test_the_schema_tells_whole_numbers_from_others_and_zero_from_none() -> None:
    retry = "retry: {max_retries: 2, interval: 1m, backoff: 1.5}\n"
    for text, taken in (
        (small(top=retry, phase="brake: 0"), True),
        (small(top=retry.replace("2", "2.5")), False),
        (small(phase="rings: [0]"), False),
    ):
        assert VALIDATOR.is_valid(yaml.load(text, TextLoader)) is taken  # noqa: S506 - as above.
        assert parse(text).ok is taken


def test_every_table_has_its_own_name() -> None:
    titles = [table.title for table in TABLES]
    assert len(titles) == len(set(titles)) >= 12
    for table in TABLES:
        names = [key.name for key in table.keys]
        assert len(names) == len(set(names))
        # The message about a missing key shows how it is written.
        assert all(key.example.startswith(f"{key.name}:") for key in table.keys if key.required)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: str(table.title))
def test_the_reference_holds_every_table_word_for_word(table: object) -> None:
    page = REFERENCE.read_text(encoding="utf-8")
    found = next(known for known in TABLES if known is table)
    assert f"### {found.title}\n\n" in page
    section = page.split(f"### {found.title}\n", 1)[1].split("\n#", 1)[0]
    assert reference_table(found) in section, f"write:\n{reference_table(found)}"


def test_the_example_of_the_reference_is_valid() -> None:
    example = REFERENCE.read_text(encoding="utf-8").split("```yaml\n", 1)[1].split("```", 1)[0]
    assert parse(example).problems == ()


def test_the_reference_names_every_code_with_its_title() -> None:
    page = REFERENCE.read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| (\w\d{3}) \| (.+) \|$", page, re.MULTILINE))
    assert rows == {code.code: code.title for code in runbook.CODES}


def test_every_code_that_the_room_uses_is_in_the_catalogue_and_the_other_way_round() -> None:
    used = {code for path in ROOM.glob("*.py") for code in re.findall(r'"([EW]\d{3})"', path.read_text("utf-8"))}
    assert {code.code for code in runbook.CODES} <= used <= set(CATALOGUE)  # Cases and plans have codes of their own.


@pytest.mark.parametrize("code", runbook.CODES, ids=lambda code: str(code.code))
def test_every_code_has_words_and_the_right_exit(code: object) -> None:
    known = next(entry for entry in runbook.CODES if entry is code)
    assert all((known.title, known.cause.endswith("."), known.cure.endswith(".")))
    expected = 0 if known.code.startswith("W") else (7 if known.code == "E121" else 2)
    assert known.exit_code == expected
    assert CATALOGUE[known.code] is known


def test_a_code_is_given_once() -> None:
    with pytest.raises(ValueError, match="E101 is given twice"):
        merged([runbook.CODES, runbook.CODES])


def test_every_code_of_a_file_has_a_file_in_the_corpus_or_a_reason() -> None:
    manifests = "".join(path.read_text(encoding="utf-8") for path in CORPUS.rglob("*.tsv"))
    # A capped list and a missing file are no files; a template without a value is met when a batch runs.
    elsewhere = {"E120", "E121", "E221", "E237"}
    assert {code.code for code in runbook.CODES} - set(re.findall(r"\t(\w\d{3})\t", manifests)) == elsewhere
