"""What Spark hides of properties: whatever looks like a secret, also when it only looks like one by chance."""

from __future__ import annotations

import random
import re

from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_sparkdeploy.spark.packing import pack, unpack

# spark.sql.redaction.options.regex and spark.redaction.regex, as they are by default
HIDDEN = re.compile(r"(?i)url|secret|password|token|access[.]?key")


@given(st.binary())
def test_what_is_packed_is_unpacked(data: bytes) -> None:
    assert unpack(pack(data)) == data


def test_nothing_packed_looks_like_a_secret() -> None:
    """Base64 of this has 'url' in it a hundred times and more."""
    data = random.Random(1).randbytes(10_000_000)
    assert not HIDDEN.search(pack(data))
