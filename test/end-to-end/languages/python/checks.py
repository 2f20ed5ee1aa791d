"""Runs checks against a gateway and reports each one as a line of JSON.

The environment names the gateway (`GATEWAY_URL`), one that sends the head of a stream while the provider is silent
(`HEAD_URL`), their keys (`GATEWAY_KEY`; `SLOT_KEY` for one request at a time,
`SPENT_KEY` with a small budget) and the routes (`ROUTES`): a list of
objects with `name`, `prefix` (the version in the path) and `model`. Every line has `sdk`, `route`, `check` and
`error`, which is null where the check held.
"""

from __future__ import annotations

import json
import os
import traceback
from dataclasses import dataclass
from threading import Event, Thread
from typing import Any, Callable

URL = os.environ["GATEWAY_URL"]
HEAD_URL = os.environ["HEAD_URL"]
KEY = os.environ["GATEWAY_KEY"]
SLOT_KEY = os.environ["SLOT_KEY"]
SPENT_KEY = os.environ["SPENT_KEY"]


@dataclass(frozen=True)
class Route:
    name: str
    prefix: str
    model: str
    embeddings: str | None = None

    @property
    def base(self) -> str:
        return URL + self.prefix

    @property
    def head_base(self) -> str:
        """The gateway whose streams begin before the provider's first event."""
        return HEAD_URL + self.prefix


ROUTES = [Route(**route) for route in json.loads(os.environ["ROUTES"])]

Check = Callable[[Route], None]


def run(sdk: str, checks: dict[str, Check]) -> None:
    """Runs every check on every route, and goes on behind a failed one."""
    for route in ROUTES:
        for name, check in checks.items():
            if name == "embeddings" and route.embeddings is None:
                continue
            error = None
            try:
                check(route)
            except BaseException as thrown:  # noqa: BLE001 - a check may fail in every way
                place = traceback.extract_tb(thrown.__traceback__)[1:2]
                line = f" (line {place[0].lineno})" if place else ""
                error = f"{type(thrown).__name__}: {thrown}{line}"[:600]
            print(json.dumps({"sdk": sdk, "route": route.name, "check": name, "error": error}), flush=True)


def equal(seen: Any, wanted: Any) -> None:
    if seen != wanted:
        raise AssertionError(f"{seen!r} is not {wanted!r}")


def raises(call: Callable[[], Any], *types: type[BaseException], status: int | None = None) -> BaseException:
    """Calls, and returns what was raised. Fails where nothing, or something else, is raised."""
    try:
        seen = call()
    except types as thrown:
        if status is not None:
            code = getattr(thrown, "status_code", None) or getattr(thrown, "code", None)
            equal(code, status)
        return thrown
    raise AssertionError(f"nothing was raised: {seen!r}"[:300])


def hold(open_stream: Callable[[], Any]) -> Callable[[], None]:
    """Opens a stream in a thread and reads it until the returned function is called."""
    opened, released = Event(), Event()

    def read() -> None:
        stream = open_stream()
        for _chunk in stream:
            opened.set()
            if released.is_set():
                break
        stream.close()

    Thread(target=read, daemon=True).start()
    assert opened.wait(30), "the stream has not begun"
    return released.set


def spend(call: Callable[[], Any], *types: type[BaseException]) -> BaseException:
    """Calls until the budget is spent, which is known when a response is over; returns what is raised then."""
    for _attempt in range(100):
        try:
            call()
        except types as thrown:
            return thrown
    raise AssertionError("the budget is never spent")


# The schema of the arguments of `get_weather`.
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
