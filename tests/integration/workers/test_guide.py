"""The guide to Python functions is true: its code runs, and its codes are those of the catalogue."""

from __future__ import annotations

import re
from pathlib import Path

from tests.integration.workers.driving import answer, pool_of, value
from tminus.workers.codes import CODES

GUIDE = Path(__file__).parents[3] / "docs" / "how-to" / "python-functions.md"


def test_the_functions_of_the_guide_do_what_it_says(tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks
    with pool_of(tmp_path, "\n".join(blocks)) as pool:
        assert pool.functions() == {"New-EntraUser", "copy_mailbox", "assign_licence"}
        created = answer(pool, "New-EntraUser", DisplayName="A", UserPrincipalName="a@x", Enabled="no", Department="S")
        assert created.result == '{"id":"id-of-a@x","enabled":false}'
        assert created.log == "creating a@x\n"
        pending = answer(pool, "copy_mailbox", UserPrincipalName="a@x", percent="40")
        assert (pending.complete, pending.result) == (False, '{"complete":false,"data":{"percent":40}}')
        assert answer(pool, "copy_mailbox", UserPrincipalName="a@x", percent=100).complete is True
        throttled = answer(pool, "assign_licence", sku="E5", answer=429).error
        assert throttled is not None
        assert (throttled.is_throttled, throttled.retry_after_s) == (True, 30.0)
        fatal = answer(pool, "assign_licence", sku="E5", answer="404").error
        assert fatal is not None
        assert (fatal.type, fatal.retryable) == ("Fatal", False)
        assert value(pool, "assign_licence", sku="E5") == {"request": "assign_licence"}


def test_the_codes_of_the_guide_are_those_of_the_room() -> None:
    named = set(re.findall(r"^\| (E\d{3}) \|", GUIDE.read_text(encoding="utf-8"), re.MULTILINE))
    assert named == {code.code for code in CODES}
