"""A page that promises what is not there is found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.tidy import prose

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tidy.conftest import Write


@pytest.mark.parametrize("text", ["", "x = 1\n", '"""No sentence"""\n'])
def test_a_module_without_a_header_is_found(tmp_path: Path, write: Write, text: str) -> None:
    write("src/tminus/store/member.py", text)
    assert len(prose.module_headers(tmp_path)) == 1


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path, write: Write) -> None:
    write("README.md", "See [one](docs/one.md), [two](docs/two.md), [web](https://example.org/x), `[no](link.md)`.\n")
    write("docs/one.md", "Back to [the front](../README.md).\n")
    assert prose.broken_links(tmp_path) == ["README.md:1: the link 'docs/two.md' leads nowhere"]


def test_a_link_to_a_heading_that_is_gone_is_found(tmp_path: Path, write: Write) -> None:
    write("docs/one.md", "# A step's journey\n\n[here](#a-steps-journey) [there](#gone)\n\n```\n# gone\n```\n")
    assert prose.broken_links(tmp_path) == ["docs/one.md:3: the link '#gone' leads nowhere"]


def test_a_page_that_nothing_leads_to_is_found(tmp_path: Path, write: Write) -> None:
    write("README.md", "[docs](docs/README.md)\n")
    write("docs/README.md", "[one](how/one.md#start)\n")
    write("docs/how/one.md", "# start\n")
    write("docs/how/two.md", "[itself](two.md)\n")
    assert prose.orphan_pages(tmp_path) == ["docs/how/two.md:1: no page leads here: link it from docs/README.md"]


def test_a_command_that_is_gone_is_found(tmp_path: Path, write: Write) -> None:
    write("Makefile", "X := 1\ncheck: lint\n\nlint type-check:\n\ttrue\n")
    write("src/tminus/runbook/__main__.py", "")
    write(
        "README.md",
        "We make things. `make check`, `make -j2 type-check`, `make A=1 launch`.\n\n"
        "```sh\npython -m tminus.runbook x.yaml\npython -m tminus.gone\nmake fly\n```\n",
    )
    assert sorted(prose.lost_commands(tmp_path)) == [
        "README.md:1: the Makefile has no target 'launch'",
        "README.md:3: the Makefile has no target 'fly'",
        "README.md:3: there is no module tminus.gone to run",
    ]


def test_a_path_that_is_gone_is_found(tmp_path: Path, write: Write) -> None:
    write("src/tminus/store/member.py", "")
    write("docs/one.md", "`src/tminus/store/member.py` is there.\n`src/tminus/store/gone.py` is not.\n")
    assert prose.lost_paths(tmp_path) == ["docs/one.md:2: there is no src/tminus/store/gone.py"]
