"""What is asked of a Spark: run a statement, look at a schema, stop what was left running.

``Spark`` is one session, ``Sessions`` is where they come from. Everything else in this
package speaks to these two, so that Spark Connect, the embedded server and spark-submit are
one thing to it. ``ConnectSessions`` is the first of the three.
"""

from __future__ import annotations

import urllib.parse
import uuid
from collections.abc import Mapping
from itertools import count
from typing import Any, Protocol, Self

from ..core.diagnostics import problem
from . import client as wire
from .failure import SparkFailure, translate

__all__ = ["ConnectSessions", "Row", "Sessions", "Spark", "SparkFailure"]

Row = Mapping[str, Any]

_SPACE = uuid.UUID("5d3f4a0e-6c1b-5b7e-9a52-0f6f8c1d7e21")  # of the names that become session ids


class Spark(Protocol):
    """One session. Its current schema is what USE made it; temporary views are its own."""

    def sql(self, text: str) -> list[Row]:
        """Run one statement to its end, and give its rows. Raises ``SparkFailure``."""

    def schema(self, query: str) -> dict[str, Any]:
        """The schema of a query as Spark's JSON (a struct). The query is analysed, not run."""

    def close(self) -> None:
        """End the session."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class Sessions(Protocol):
    """A Spark that sessions can be opened on. Safe to use from several threads."""

    @property
    def metastore(self) -> str:
        """The database of its catalog, where Spark itself can be asked for what is in it (as a JDBC
        address); empty where it cannot."""

    def open(self, key: str = "") -> Spark:
        """A session. One that is opened again with the same ``key`` (run and operation) is the
        same session on the server, also from another process; without a key it is new."""

    def settle(self, key: str) -> bool:
        """Stop whatever a killed client left running in the session of ``key``, and wait until it
        has ended. False where that cannot be known."""


class ConnectSessions:
    """Sessions on a Spark Connect server: ``sc://host:port``, optionally ``/;name=value;...``.

    Nothing is sent before a session is opened.
    """

    def __init__(self, url: str, *, metastore: str = "") -> None:
        self._url = url
        self.address = _address(url)
        self.metastore = metastore

    def __repr__(self) -> str:
        return f"ConnectSessions({self.address!r})"  # without the parameters: one may be a token

    def open(self, key: str = "") -> Spark:
        return _ConnectSpark(self._client(key), self.address, key)

    def settle(self, key: str) -> bool:
        try:
            client = self._client(key, patient=False)
        except SparkFailure:
            return False
        try:
            return wire.settle(client)
        except Exception as error:
            # A session that is not there has nothing running. Of any other answer nobody knows.
            return translate(error, self.address).condition == "INVALID_HANDLE.SESSION_NOT_FOUND"
        finally:
            client.close()

    def setting(self, name: str) -> str:
        """What the server has a setting at, empty where it has none. Asks once, without patience."""
        client = self._client("", patient=False)
        request = wire.pyspark().pb2.ConfigRequest()
        request.operation.get_option.keys.append(name)
        try:
            return str(wire.ask(client, "Config", request).pairs[0].value)
        except Exception as error:
            raise translate(error, self.address) from None
        finally:
            wire.end(client)

    def _client(self, key: str, *, patient: bool = True) -> Any:
        """A client of the session of ``key`` that has had its first answer.

        The first answer names the server's side of the session. With that name, a server that
        was started again refuses what was meant for its predecessor; without it, the client
        quietly sends a statement a second time after the first has run.
        """
        for turn in count():
            # A session that lay idle for long is closed for good: its key moves on to the next.
            session = uuid.uuid5(_SPACE, f"{turn}/{key}") if key else uuid.uuid4()
            client = wire.new_client(self._url, str(session), patient=patient)
            try:
                wire.hello(client)
                return client
            except Exception as error:
                client.close()
                failure = translate(error, self.address)
                if not key or failure.condition != "INVALID_HANDLE.SESSION_CLOSED":
                    raise failure from None
        raise AssertionError("the turns do not end")


class _ConnectSpark:
    """One session, spoken to through the client below ``pyspark.sql``: no global state, and the
    rows of a command come with its answer instead of in a second round trip."""

    def __init__(self, client: Any, address: str, key: str) -> None:
        self._client = client
        self._address = address
        self._tag = key.replace(",", ";")  # a tag has no commas

    def sql(self, text: str) -> list[Row]:
        spark = wire.pyspark()
        command = spark.pb2.Command()
        command.sql_command.input.sql.query = text
        try:
            if self._tag:
                self._client.add_tag(self._tag)  # each thread has tags of its own
            _, answer, _ = self._client.execute_command(command)
            relation = answer["sql_command_result"]
            if relation.WhichOneof("rel_type") == "local_relation":
                with spark.pyarrow.ipc.open_stream(relation.local_relation.data) as reader:
                    return wire.rows(reader.read_all(), None)
            plan = spark.pb2.Plan(root=relation)
            table, schema, _ = self._client.to_table(plan, {})
            return wire.rows(table, schema)
        except Exception as error:
            raise translate(error, self._address) from None

    def schema(self, query: str) -> dict[str, Any]:
        plan = wire.pyspark().pb2.Plan()
        plan.root.sql.query = query
        try:
            found: dict[str, Any] = self._client.schema(plan).jsonValue()
        except Exception as error:
            raise translate(error, self._address) from None
        return found

    def close(self) -> None:
        wire.end(self._client)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _address(url: str) -> str:
    """The part of an address that may be shown. Raises where it is none."""
    try:
        parts = urllib.parse.urlsplit(url)
        host, port = parts.hostname or "", parts.port or 15002
        parameters = parts.path.removeprefix("/").split(";")
        unread = parameters[0] or parts.query or parts.fragment or ";" in host
        well_formed = not unread and all(item.count("=") == 1 for item in parameters[1:])
    except ValueError:
        well_formed = False
    if not well_formed or not host or parts.scheme != "sc":
        raise problem(
            "SD705",
            "the address of Spark is not one of Spark Connect",
            advice="Write sc://host:port, or sc://host:port/;name=value;name=value with every "
            "special character of a value percent-encoded (= is %3D).",
        )
    return f"sc://[{host}]:{port}" if ":" in host else f"sc://{host}:{port}"
