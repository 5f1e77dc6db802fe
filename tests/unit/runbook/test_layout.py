"""One layout: whatever a person has done to a runbook's text, laying it out keeps its meaning and every comment."""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.runbook.samples import CORPUS, SMALL, manifest, valid_files
from tminus.runbook import load, parse
from tminus.runbook.layout import Unsafe, laid_out

STARTER = Path(__file__).parents[3] / "src" / "tminus" / "cli" / "starter" / "runbook.yaml"
FILES = [path.read_text(encoding="utf-8") for path in [*valid_files(), STARTER]]
MARK = re.compile(r"# (?:alone|beside|inside)-\d+")

ODD = """\
---
phases:
# the first phase
- name: p   # beside the item
  # before offset
  offset: 'T-0'
  steps:
  -   # odd place
    function: "F"   \n    worker_id:
      # between key and value
      w
    name: s
    params:
      text: |2
          two more
        blank below

      folded: >-  # beside a header
        a
        b
      plain: one
        two

        three # after plain
      quoted: "one
        two"
      list:
      - - a
        - b # b
      -
        - c
        # foot of c
      empty: {}
      odd: {a: 1, # one
        b: [x,
           y] # xy
      } # end
    # foot of the step
  # foot of the phase
# before source
data_source:  # where from
  primary_key: E
  type: manual


name: w   # the name
# the end
...
"""
EVEN = """\
name: w # the name
# before source
data_source: # where from
  type: manual
  primary_key: E
phases:
  # the first phase
  - name: p # beside the item
    # before offset
    offset: "T-0"
    steps:
      # odd place
      - name: s
        # between key and value
        worker_id: w
        function: "F"
        params:
          text: |2
              two more
            blank below

          folded: >- # beside a header
            a
            b
          plain: one
            two

            three # after plain
          quoted: "one
            two"
          list:
            - - a
              - b # b
            - - c
              # foot of c
          empty: {}
          odd: # end
            a: 1 # one
            b: [x, y] # xy
        # foot of the step
      # foot of the phase
# the end
"""


def scribbled(chance: random.Random) -> str:
    """Return a runbook that several hands have been at."""
    lines = chance.choice(FILES).split("\n")
    for number in range(chance.randint(1, 6)):
        at = chance.randrange(len(lines))
        line = lines[at]
        own = len(line) - len(line.lstrip())
        act = chance.randrange(6)
        if act == 0:
            lines.insert(at, " " * chance.choice([0, 2, 4, 6, 8, 10, 12, own]) + f"# alone-{number}")
        elif act == 1 and line.strip():
            lines[at] = f"{line}  # beside-{number}"
        elif act == 2:
            lines.insert(at, "")
        elif act == 3 and "," in line and "#" not in line:
            cut = chance.choice([match.start() for match in re.finditer(",", line)]) + 1
            note = f" # inside-{number}" if chance.random() < 0.5 else ""
            lines[at : at + 1] = [line[:cut] + note, " " * (own + 2) + line[cut:].lstrip()]
        elif act == 4 and at + 1 < len(lines):
            below = lines[at + 1]
            if own == len(below) - len(below.lstrip()) and not re.match(r"\s*(-|$)", below + line.strip()[:1]):
                lines[at : at + 2] = [below, line]
        elif act == 5:
            lines[at] = line.replace('"', "'")
    return ("\r\n" if chance.random() < 0.1 else "\n").join(lines)


@given(st.integers(0, 1 << 32))
@settings(max_examples=150)
def test_meaning_and_comments_survive_and_a_second_time_changes_nothing(seed: int) -> None:
    text = scribbled(random.Random(seed))
    if not parse(text).ok:
        return
    found = laid_out(text)
    assert load(found) == load(text)
    assert Counter(MARK.findall(found)) == Counter(MARK.findall(text))
    assert laid_out(found) == found


def test_every_comment_goes_with_what_it_is_about() -> None:
    assert laid_out(ODD) == EVEN
    assert laid_out(EVEN) == EVEN


@pytest.mark.parametrize("path", valid_files(), ids=lambda path: path.name)
def test_the_valid_files_keep_their_meaning(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    found = laid_out(text)
    assert load(found) == load(text)
    assert laid_out(found) == found
    assert max(map(len, found.splitlines())) <= max(120, *map(len, text.splitlines()))


@pytest.mark.parametrize("file", sorted(name for name, wanted in manifest("semantic").items()
                                        if not any(code.startswith("E") for code, _ in wanted)))  # fmt: skip
def test_files_with_warnings_keep_them(file: str) -> None:
    text = (CORPUS / "semantic" / file).read_bytes().decode("utf-8-sig")
    found = laid_out(text)
    assert load(found) == load(text)
    assert [one.code for one in parse(found).problems if one.code != "W101"] == [
        one.code for one in parse(text).problems if one.code != "W101"
    ]


def test_keys_stand_in_the_order_of_the_table_and_own_names_in_the_authors() -> None:
    text = SMALL.replace("        function: New-User\n", "        params: {b: 1, a: 2}\n        function: New-User\n")
    text = text.replace("name: wave\n", "") + "name: wave\nlimits: {z: {in_flight: 1}, a: {in_flight: 2}}\n"
    found = laid_out(text)
    assert re.findall(r"^(\w+):", found, re.MULTILINE) == ["name", "data_source", "limits", "phases"]
    assert found.index("function:") < found.index("params: {b: 1, a: 2}")
    assert "limits: {z: {in_flight: 1}, a: {in_flight: 2}}" in found


def test_the_head_of_a_file_stays_on_top() -> None:
    head = "# yaml-language-server: $schema=./runbook.schema.json\n# About this file.\n"
    source = "# Where they come from.\ndata_source: {type: manual, primary_key: Email}\n"
    rest = SMALL.replace("data_source: {type: manual, primary_key: Email}\n", "")
    found = laid_out(f"{head}\n{source}{rest}")
    assert found.startswith(f"{head}\nname: wave\n\n# Where they come from.\ndata_source:")
    assert laid_out(f"{head}{rest}{source}").startswith(f"{head}name: wave\n# Where they")


def test_quotes_become_alike_only_where_nothing_needs_an_escape() -> None:
    step = "params: {a: 'x', b: 'it''s', c: 'say \"x\"', d: 'C:\\temp', \"e f\": 'x', \"g\": 012}"
    text = SMALL + f"        {step}\n"
    assert '{a: "x", b: "it\'s", c: \'say "x"\', d: \'C:\\temp\', e f: "x", g: 012}' in laid_out(text)


def test_line_breaks_stay_those_of_the_file() -> None:
    text = SMALL.replace("\n", "\r\n")
    assert laid_out(text) == text
    assert laid_out("\ufeff" + SMALL) == SMALL


def test_what_is_too_wide_for_a_line_takes_lines_of_its_own() -> None:
    wide = ", ".join(f"name{number}: value{number}" for number in range(10))
    found = laid_out(SMALL + f"        params: {{{wide}}}\n")
    assert "        params:\n          name0: value0\n" in found
    assert laid_out(found) == found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("name: wave\n", "? name\n: wave\n"),
        ("data_source: {", "data_source: { # beside a bracket\n  "),
    ],
)
def test_rare_forms_are_laid_out_or_refused_but_never_damaged(old: str, new: str) -> None:
    text = SMALL.replace(old, new)
    assert parse(text).ok
    try:
        found = laid_out(text)
    except Unsafe:
        return
    assert load(found) == load(text)
    assert found.count("#") == text.count("#")


def test_a_form_that_is_refused_says_where() -> None:
    with pytest.raises(Unsafe) as caught:
        laid_out(SMALL.replace("        worker_id: cloud\n", "        ? worker_id\n        : cloud\n"))
    assert (caught.value.why, caught.value.line, caught.value.column) == ("a key that takes more than one line", 8, 11)


def test_a_comment_that_hangs_on_nothing_is_not_lost() -> None:
    text = '{ # made by a program\n"name": "w", "data_source": {"type": "manual", "primary_key": "E"}, "phases": [\n'
    text += '{"name": "p", "offset": "T-0", "steps": [{"name": "s", "worker_id": "w", "function": "f"}]}]}\n'
    assert parse(text).ok
    with pytest.raises(Unsafe, match="a comment stands where it cannot be kept"):
        laid_out(text)
