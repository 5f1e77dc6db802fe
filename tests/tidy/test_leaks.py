"""Each kind of leak is found, by place and kind, without being repeated.

The samples are put together here, so that this file holds none itself.
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.tidy import leaks

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tidy.conftest import Write

SAMPLES = {
    "a path of one machine": "open('/" + "home/someone/x')",
    "the host of a package registry": "https://registry." + "npmjs" + ".org/x",
    "an index option": "--extra-index" + "-url x",
    "a private key": "-----BEGIN RSA " + "PRIVATE KEY-----",
    "a token": "ghp_" + "a1B2" * 9,
    "a signed token": "eyJ" + "a" * 12 + ".eyJ" + "b" * 12 + "." + "c" * 12,
    "a shared key": "Account" + "Key=" + "a1B2" * 10,
}


@pytest.mark.parametrize("kind", leaks.LEAKS)
def test_a_leak_is_found(tmp_path: Path, write: Write, kind: str) -> None:
    write("docs/page.md", f"first line\n{SAMPLES[kind]}\n")
    assert leaks.leaks_in(tmp_path, [tmp_path / "docs/page.md"]) == [f"docs/page.md:2: {kind}"]


@pytest.mark.parametrize("text", ["https://example.org/home/x", "../tmp/x", "src/work/x", "sqlite:///tminus.db"])
def test_an_innocent_path_is_left_alone(tmp_path: Path, write: Write, text: str) -> None:
    write("docs/page.md", text)
    assert leaks.leaks_in(tmp_path, [tmp_path / "docs/page.md"]) == []


def test_only_tracked_files_are_read(tmp_path: Path, write: Write) -> None:
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    write("tracked.txt", SAMPLES["a token"])
    write("loose.txt", SAMPLES["a token"])
    (tmp_path / "picture.bin").write_bytes(b"\xff\xfe\x00")
    subprocess.run(["git", "add", "tracked.txt", "picture.bin"], cwd=tmp_path, check=True)
    assert leaks.leaks(tmp_path) == ["tracked.txt:1: a token"]
