"""The conversation of every client that leaves its history to the gateway: three prompts, two of which call a tool."""

import json
from typing import Callable

from checks import Route, equal

TURNS_MAX = 5
Say = Callable[[str], str]


class Weather:
    """Counts its calls, so that each result can be recognised."""

    def __init__(self) -> None:
        self.cities: list[str] = []

    def ask(self, city: str) -> str:
        self.cities.append(city)
        return json.dumps({"degrees": 20 + len(self.cities)})


def check(start: Callable[[Route, Weather, bool], Say]) -> dict[str, Callable[[Route], None]]:
    def converse(route: Route, is_stream: bool) -> None:
        weather = Weather()
        say = start(route, weather, is_stream)
        seen = say('The word is cobalt. [[tool:get_weather {"city":"Oslo"}]]')
        assert "21" in seen, seen
        seen = say("[[recall]]")
        assert "cobalt" in seen, seen
        seen = say('[[tool:get_weather {"city":"Rome"}]]')
        assert "22" in seen, seen
        equal(weather.cities, ["Oslo", "Rome"])

    return {"whole": lambda route: converse(route, False), "streamed": lambda route: converse(route, True)}
