"""The official `openai` package: chat completions and Responses, and LangChain on top of it."""

from typing import Any, Callable

import openai
from openai import DefaultHttpxClient, OpenAI
from pydantic import BaseModel

import prompts
from checks import CITY, KEY, SLOT_KEY, SPENT_KEY, Route, equal, hold, raises, run, spend


class Answer(BaseModel):
    city: str
    degrees: int


def client(route: Route, key: str = KEY) -> OpenAI:
    return OpenAI(base_url=route.base, api_key=key, max_retries=0, timeout=30)


def repeating(route: Route, key: str, note: Callable[[Any], None]) -> OpenAI:
    """A client that tries twice more by itself; each response is noted."""
    http_client = DefaultHttpxClient(event_hooks={"response": [note]})
    return OpenAI(base_url=route.base, api_key=key, max_retries=2, timeout=30, http_client=http_client)


def ask(text: str) -> list:
    return [{"role": "user", "content": text}]


TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": CITY}}]


def whole(route: Route) -> None:
    answer = client(route).chat.completions.create(model=route.model, messages=ask(prompts.WHOLE))
    equal(answer.choices[0].message.content, "Hello from the model")
    equal(answer.choices[0].finish_reason, "stop")
    equal(answer.model, route.model)


def streamed(route: Route) -> None:
    with client(route).chat.completions.stream(
        model=route.model, messages=ask(prompts.STREAMED), stream_options={"include_usage": True}
    ) as stream:
        for _event in stream:
            pass
        final = stream.get_final_completion()
    equal(final.choices[0].message.content, "Hello there")
    equal(final.choices[0].finish_reason, "stop")
    assert final.usage is not None and final.usage.total_tokens > 0, final.usage


def tool_loop(route: Route) -> None:
    for is_stream in (False, True):
        messages = ask(prompts.TOOL)
        for turn in (1, 2):
            if is_stream:
                with client(route).chat.completions.stream(
                    model=route.model, messages=messages, tools=TOOLS
                ) as stream:
                    message = stream.get_final_completion().choices[0].message
            else:
                message = (
                    client(route)
                    .chat.completions.create(model=route.model, messages=messages, tools=TOOLS)
                    .choices[0]
                    .message
                )
            if turn == 2:
                equal(message.content, "It is 7 degrees")
                break
            calls = message.tool_calls or []
            equal([(call.function.name, call.function.arguments.replace(" ", "")) for call in calls],
                  [("get_weather", '{"city":"Oslo"}')])
            messages.append(message.model_dump(exclude_none=True))
            messages.append({"role": "tool", "tool_call_id": calls[0].id, "content": '{"degrees": 7}'})


def structured(route: Route) -> None:
    parsed = client(route).chat.completions.parse(
        model=route.model, messages=ask("Where?"), response_format=Answer
    )
    assert isinstance(parsed.choices[0].message.parsed, Answer), parsed


def errors(route: Route) -> None:
    one = client(route)
    raises(
        lambda: one.chat.completions.create(model="no/such/model", messages=ask("x")), openai.NotFoundError
    )
    raises(
        lambda: one.chat.completions.create(model=route.model, messages=[]), openai.BadRequestError
    )
    raises(
        lambda: client(route, "wrong").chat.completions.create(model=route.model, messages=ask("x")),
        openai.AuthenticationError,
    )
    limited = raises(
        lambda: one.chat.completions.create(model=route.model, messages=ask(prompts.RATE_LIMIT)), openai.RateLimitError
    )
    equal(limited.response.headers.get("retry-after"), "1")


def limits(route: Route) -> None:
    slot = client(route, SLOT_KEY)
    release = hold(lambda: slot.chat.completions.create(model=route.model, messages=ask(prompts.HELD), stream=True))
    refused = raises(
        lambda: slot.chat.completions.create(model=route.model, messages=ask("x")), openai.RateLimitError, status=429
    )
    equal((refused.code, refused.type, refused.response.headers["retry-after"]),
          ("rate_limit_exceeded", "rate_limit_error", "1"))
    assert "'slot'" in refused.message, refused.message
    seen: list[int] = []

    def note(response: Any) -> None:
        seen.append(response.status_code)
        release()

    again = repeating(route, SLOT_KEY, note).chat.completions.create(model=route.model, messages=ask(prompts.WHOLE))
    equal(again.choices[0].message.content, "Hello from the model")
    equal(seen, [429, 200])
    if route.name != "chat":
        return
    spent = spend(
        lambda: client(route, SPENT_KEY).chat.completions.create(model=route.model, messages=ask(prompts.WHOLE)),
        openai.RateLimitError,
    )
    equal((spent.code, spent.type), ("budget_exceeded", "insufficient_quota"))
    seen.clear()
    one = repeating(route, SPENT_KEY, note)
    raises(lambda: one.chat.completions.create(model=route.model, messages=ask("x")), openai.RateLimitError)
    equal(seen, [429])


def broken_stream(route: Route) -> None:
    def read() -> str:
        text = ""
        for chunk in client(route).chat.completions.create(
            model=route.model, messages=ask(prompts.BROKEN), stream=True
        ):
            text += (chunk.choices[0].delta.content or "") if chunk.choices else ""
        return text

    raises(read, openai.APIError, Exception)


def early_head(route: Route) -> None:
    early = OpenAI(base_url=route.head_base, api_key=KEY, max_retries=0, timeout=30)

    def read(prompt: str) -> str:
        chunks = early.chat.completions.create(model=route.model, messages=ask(prompt), stream=True)
        return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)

    equal(read(prompts.SILENT), "done")
    raises(lambda: read(prompts.SILENT_FAILURE), openai.APIError)


def cancelled(route: Route) -> None:
    stream = client(route).chat.completions.create(model=route.model, messages=ask(prompts.LONG), stream=True)
    for chunk in stream:
        if chunk.choices and chunk.choices[0].delta.content:
            break
    stream.close()


def models(route: Route) -> None:
    assert route.model in [model.id for model in client(route).models.list()], "the model is not listed"


def embeddings(route: Route) -> None:
    answer = client(route).embeddings.create(model=route.embeddings, input=["one", "two"])
    equal([item.index for item in answer.data], [0, 1])
    assert all(isinstance(item.embedding[0], float) for item in answer.data)


run(
    "openai",
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
        "embeddings": embeddings,
    },
)


# The Responses operation.

RESPONSE_TOOLS = [{"type": "function", "name": "get_weather", "parameters": {**CITY, "additionalProperties": False},
                   "strict": True}]


def responses_whole(route: Route) -> None:
    answer = client(route).responses.create(model=route.model, input=prompts.WHOLE)
    equal(answer.output_text, "Hello from the model")
    equal(answer.status, "completed")


def responses_streamed(route: Route) -> None:
    with client(route).responses.stream(model=route.model, input=prompts.STREAMED) as stream:
        for _event in stream:
            pass
        final = stream.get_final_response()
    equal(final.output_text, "Hello there")
    assert final.usage is not None and final.usage.total_tokens > 0, final.usage


def responses_tool_loop(route: Route) -> None:
    for is_stream in (False, True):
        items: list = [{"role": "user", "content": prompts.TOOL}]
        for turn in (1, 2):
            if is_stream:
                with client(route).responses.stream(model=route.model, input=items, tools=RESPONSE_TOOLS) as stream:
                    for _event in stream:
                        pass
                    answer = stream.get_final_response()
            else:
                answer = client(route).responses.create(model=route.model, input=items, tools=RESPONSE_TOOLS)
            if turn == 2:
                equal(answer.output_text, "It is 7 degrees")
                break
            calls = [item for item in answer.output if item.type == "function_call"]
            equal([(call.name, call.arguments.replace(" ", "")) for call in calls],
                  [("get_weather", '{"city":"Oslo"}')])
            items += [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in answer.output]
            items.append({"type": "function_call_output", "call_id": calls[0].call_id, "output": '{"degrees": 7}'})


def responses_structured(route: Route) -> None:
    answer = client(route).responses.parse(model=route.model, input="Where?", text_format=Answer)
    assert isinstance(answer.output_parsed, Answer), answer


def responses_broken(route: Route) -> None:
    def read() -> str:
        text = ""
        is_complete = False
        for event in client(route).responses.create(model=route.model, input=prompts.BROKEN, stream=True):
            if event.type == "response.output_text.delta":
                text += event.delta
            is_complete = is_complete or event.type == "response.completed"
            if event.type == "response.failed":
                raise openai.APIError("failed", request=None, body=None)  # type: ignore[arg-type]
        return f"{text} {is_complete}"

    raises(read, Exception)


def responses_early_head(route: Route) -> None:
    early = OpenAI(base_url=route.head_base, api_key=KEY, max_retries=0, timeout=30)

    def read(prompt: str) -> str:
        with early.responses.stream(model=route.model, input=prompt) as stream:
            for event in stream:
                # The SDK leaves it to the program to raise what a failed response says.
                if event.type == "response.failed":
                    assert event.response.error is not None, event
                    return "failed"
            return stream.get_final_response().output_text

    equal(read(prompts.SILENT), "done")
    equal(read(prompts.SILENT_FAILURE), "failed")


def responses_cancelled(route: Route) -> None:
    stream = client(route).responses.create(model=route.model, input=prompts.LONG, stream=True)
    for event in stream:
        if event.type == "response.output_text.delta":
            break
    stream.close()


run(
    "openai responses",
    {
        "whole": responses_whole,
        "streamed": responses_streamed,
        "tool loop": responses_tool_loop,
        "structured output": responses_structured,
        "broken stream": responses_broken,
        "early head": responses_early_head,
        "cancelled": responses_cancelled,
    },
)
