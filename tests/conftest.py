"""What every floor shares: a test is marked by the folder it lies in, and hypothesis has one profile.

The floors are the markers in `pyproject.toml`. A test outside of them would never be chosen by floor, so that it is an
error and not a default. This file knows nothing of the product.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

HERE = Path(__file__).parent

# The settings of whoever runs the tests are no part of them.
os.environ["XDG_CONFIG_HOME"] = str(HERE / "nobody")

# A shared machine pauses at any moment, so that time alone never fails a property.
settings.register_profile("tminus", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tminus")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark each test with its floor."""
    floors = {str(line).split(":", 1)[0] for line in config.getini("markers")}
    for item in items:
        floor = item.path.relative_to(HERE).parts[0]
        if floor not in floors:
            raise pytest.UsageError(f"{item.nodeid}: tests/{floor} is not a floor; the floors are the markers")
        item.add_marker(floor)
