from __future__ import annotations

from pathlib import Path

import pytest
from cli_calls import FILES, Shop


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """Nothing is deployed."""
    return Shop(tmp_path, FILES)


@pytest.fixture
def deployed(shop: Shop) -> Shop:
    """Everything is deployed."""
    assert shop.call("baseline").exit_code == 0
    return shop
