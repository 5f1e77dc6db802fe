"""What looks like a secret is covered; a sentence about one is not."""

from __future__ import annotations

import time

import pytest

from tminus.runbook.masking import COVER, LONGEST, masked

# Made up, and put together here, so that nothing in this file looks like one itself.
AWS = "AKIA" + "IOSFODNN7EXAMPLE"
GIT = "ghp_" + "0123456789abcdefghijABCDEFGHIJ0123"
BEGIN = "-----BEGIN {}PRIVATE" + " KEY-----"
JWT = "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxIn0.abc"
SECRETS = [
    ("login failed: password=hunter2; user=x", "hunter2"),
    ("Authorization: Bearer abcdef123456.zz", "abcdef123456"),
    ("got Bearer abcdef123456789 back", "abcdef123456789"),
    ("postgres://bob:s3cret@host/db refused", "s3cret"),
    ("AccountKey=q0fPd==;EndpointSuffix=core", "q0fPd"),
    ('{"token": "abc def", "a": 1}', "abc def"),
    ("pwd: 'x y z'", "x y z"),
    ("https://x.example/c?sv=1&sig=aBc%3D&se=2", "aBc"),
    ("client_secret=qwertz", "qwertz"),
    ("SqlPassword=qwertz", "qwertz"),
    ("api-key: 123-456", "123-456"),
    (f"jwt {JWT} rejected", JWT),
    (f"key {AWS} is wrong", AWS),
    (f"{GIT} expired", GIT),
    (f"{BEGIN.format('RSA ')}\nMIIE\n{BEGIN.format('RSA ').replace('BEGIN', 'END')} not accepted", "MIIE"),
    (f"{BEGIN.format('')}\nMIIE", "MIIE"),
]
PLAIN = [
    "409 address already in use", "token expired", "the password must be longer than 8", "compass: north",
    "basic auth failed", "design: done", "user-0104@contoso.example", "2026-12-04T21:00:00Z", "tokens left: 3",
    "https://x.example/a?b=c", "step cutover/primary failed", "",
]  # fmt: skip


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_a_secret_is_covered(text: str, secret: str) -> None:
    assert secret not in masked(text)
    assert COVER in masked(text)


@pytest.mark.parametrize("text", PLAIN)
def test_a_plain_sentence_is_kept(text: str) -> None:
    assert masked(text) == text


@pytest.mark.parametrize("part", ["a.", "password", "x:", "eyJ", "Bearer ", "-----BEGIN ", "'", "a://", 'token="'])
def test_no_text_takes_long(part: str) -> None:
    began = time.process_time()
    assert len(masked(part * LONGEST)) <= LONGEST * 2
    assert time.process_time() - began < 2
