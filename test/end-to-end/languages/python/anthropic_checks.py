"""The official `anthropic` package."""

from typing import Any, Callable

import anthropic
from anthropic import Anthropic, DefaultHttpxClient

import prompts
from checks import CITY, KEY, SLOT_KEY, SPENT_KEY, Route, equal, hold, raises, run, spend


def base_url(route: Route) -> str:
    # This SDK adds the version to the path by itself: /v1 of the gateway needs none in front of it.
    return route.base if route.prefix != "/v1" else route.base[: -len("/v1")]


def client(route: Route, key: str = KEY) -> Anthropic:
    return Anthropic(base_url=base_url(route), api_key=key, max_retries=0, timeout=30)


def repeating(route: Route, key: str, note: Callable[[Any], None]) -> Anthropic:
    """A client that tries twice more by itself; each response is noted."""
    http_client = DefaultHttpxClient(event_hooks={"response": [note]})
    return Anthropic(base_url=base_url(route), api_key=key, max_retries=2, timeout=30, http_client=http_client)


def ask(text: str) -> list:
    return [{"role": "user", "content": text}]


TOOLS = [{"name": "get_weather", "input_schema": CITY}]


def whole(route: Route) -> None:
    answer = client(route).messages.create(model=route.model, max_tokens=100, messages=ask(prompts.WHOLE))
    equal([block.text for block in answer.content if block.type == "text"], ["Hello from the model"])
    equal(answer.stop_reason, "end_turn")
    equal(answer.model, route.model)


def streamed(route: Route) -> None:
    with client(route).messages.stream(model=route.model, max_tokens=100, messages=ask(prompts.STREAMED)) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    equal(text, "Hello there")
    equal(final.stop_reason, "end_turn")
    assert final.usage.output_tokens > 0, final.usage


def tool_loop(route: Route) -> None:
    for is_stream in (False, True):
        messages = ask(prompts.TOOL)
        for turn in (1, 2):
            request = {"model": route.model, "max_tokens": 100, "messages": messages, "tools": TOOLS}
            if is_stream:
                with client(route).messages.stream(**request) as stream:
                    answer = stream.get_final_message()
            else:
                answer = client(route).messages.create(**request)
            if turn == 2:
                equal("".join(block.text for block in answer.content if block.type == "text"), "It is 7 degrees")
                break
            calls = [block for block in answer.content if block.type == "tool_use"]
            equal([(call.name, call.input) for call in calls], [("get_weather", {"city": "Oslo"})])
            equal(answer.stop_reason, "tool_use")
            messages.append({"role": "assistant", "content": [b.model_dump(exclude_none=True) for b in answer.content]})
            result = {"type": "tool_result", "tool_use_id": calls[0].id, "content": '{"degrees": 7}'}
            messages.append({"role": "user", "content": [result]})


def structured(route: Route) -> None:
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "degrees": {"type": "integer"}},
        "required": ["city", "degrees"],
        "additionalProperties": False,
    }
    answer = client(route).messages.create(
        model=route.model,
        max_tokens=100,
        messages=ask("Where?"),
        output_config={"format": {"type": "json_schema", "schema": schema}},
    )
    import json

    equal(sorted(json.loads(answer.content[0].text)), ["city", "degrees"])


def errors(route: Route) -> None:
    one = client(route)
    raises(
        lambda: one.messages.create(model="no/such/model", max_tokens=9, messages=ask("x")), anthropic.NotFoundError
    )
    raises(lambda: one.messages.create(model=route.model, max_tokens=9, messages=[]), anthropic.BadRequestError)
    raises(
        lambda: client(route, "wrong").messages.create(model=route.model, max_tokens=9, messages=ask("x")),
        anthropic.AuthenticationError,
    )
    limited = raises(
        lambda: one.messages.create(model=route.model, max_tokens=9, messages=ask(prompts.RATE_LIMIT)),
        anthropic.RateLimitError,
    )
    equal(limited.response.headers.get("retry-after"), "1")


def limits(route: Route) -> None:
    request = {"model": route.model, "max_tokens": 100, "messages": ask(prompts.WHOLE)}
    slot = client(route, SLOT_KEY)
    held = {"model": route.model, "max_tokens": 4000, "messages": ask(prompts.HELD), "stream": True}
    release = hold(lambda: slot.messages.create(**held))
    refused = raises(lambda: slot.messages.create(**request), anthropic.RateLimitError, status=429)
    equal(refused.response.headers["retry-after"], "1")
    error = refused.body["error"]
    equal((error["type"], error["details"]["error_code"]), ("rate_limit_error", "rate_limit_exceeded"))
    assert "'slot'" in error["message"], error
    seen: list[int] = []

    def note(response: Any) -> None:
        seen.append(response.status_code)
        release()

    again = repeating(route, SLOT_KEY, note).messages.create(**request)
    equal([block.text for block in again.content if block.type == "text"], ["Hello from the model"])
    equal(seen, [429, 200])
    if route.name != "chat":
        return
    spent = spend(lambda: client(route, SPENT_KEY).messages.create(**request), anthropic.RateLimitError)
    equal(spent.body["error"]["details"]["error_code"], "budget_exceeded")
    seen.clear()
    raises(lambda: repeating(route, SPENT_KEY, note).messages.create(**request), anthropic.RateLimitError)
    equal(seen, [429])


def broken_stream(route: Route) -> None:
    def read() -> str:
        with client(route).messages.stream(model=route.model, max_tokens=100, messages=ask(prompts.BROKEN)) as stream:
            return "".join(stream.text_stream)

    raises(read, Exception)


def early_head(route: Route) -> None:
    early = Anthropic(base_url=route.head_base.removesuffix("/v1"), api_key=KEY, max_retries=0, timeout=30)

    def read(prompt: str) -> str:
        with early.messages.stream(model=route.model, max_tokens=100, messages=ask(prompt)) as stream:
            return "".join(stream.text_stream)

    equal(read(prompts.SILENT), "done")
    raises(lambda: read(prompts.SILENT_FAILURE), anthropic.APIStatusError)


def cancelled(route: Route) -> None:
    with client(route).messages.stream(model=route.model, max_tokens=4000, messages=ask(prompts.LONG)) as stream:
        for _text in stream.text_stream:
            break


def models(route: Route) -> None:
    assert route.model in [model.id for model in client(route).models.list()], "the model is not listed"


run(
    "anthropic",
    {
        "whole": whole,
        "streamed": streamed,
        "tool loop": tool_loop,
        "structured output": structured,
        "errors": errors,
        "limits": limits,
        "broken stream": broken_stream,
        "early head": early_head,
        "cancelled": cancelled,
        "models": models,
    },
)
