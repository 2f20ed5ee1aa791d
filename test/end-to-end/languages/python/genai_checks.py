"""The official `google-genai` package, its automatic function calling included."""

from functools import cache
from threading import Timer

from google import genai
from google.genai import errors as genai_errors
from google.genai import types
from pydantic import BaseModel

import prompts
from checks import KEY, SLOT_KEY, SPENT_KEY, Route, equal, hold, raises, run, spend


class Answer(BaseModel):
    city: str
    degrees: int


@cache  # a client closes its connections when no variable holds it
def client(route: Route, key: str = KEY) -> genai.Client:
    return genai.Client(api_key=key, http_options=types.HttpOptions(base_url=route.base, timeout=30_000))


def get_weather(city: str) -> dict[str, int]:
    """Tells the weather of a city."""
    assert city == "Oslo", city
    return {"degrees": 7}


def whole(route: Route) -> None:
    answer = client(route).models.generate_content(model=route.model, contents=prompts.WHOLE)
    equal(answer.text, "Hello from the model")
    equal(answer.candidates[0].finish_reason, types.FinishReason.STOP)


def streamed(route: Route) -> None:
    text = ""
    usage = None
    for chunk in client(route).models.generate_content_stream(model=route.model, contents=prompts.STREAMED):
        text += chunk.text or ""
        usage = chunk.usage_metadata or usage
    equal(text, "Hello there")
    assert usage is not None and usage.total_token_count > 0, usage


def tool_loop(route: Route) -> None:
    # The SDK calls the function and asks again by itself; it sends the schema of the function's response.
    answer = client(route).models.generate_content(
        model=route.model, contents=prompts.TOOL, config=types.GenerateContentConfig(tools=[get_weather])
    )
    equal(answer.text, "It is 7 degrees")
    equal(len(answer.automatic_function_calling_history or []), 3)
    chat = client(route).chats.create(
        model=route.model, config=types.GenerateContentConfig(tools=[get_weather])
    )
    equal("".join(chunk.text or "" for chunk in chat.send_message_stream(prompts.TOOL)), "It is 7 degrees")


def structured(route: Route) -> None:
    answer = client(route).models.generate_content(
        model=route.model,
        contents="Where?",
        config=types.GenerateContentConfig(response_mime_type="application/json", response_schema=Answer),
    )
    assert isinstance(answer.parsed, Answer), answer.text


def errors(route: Route) -> None:
    one = client(route)
    raises(
        lambda: one.models.generate_content(model="no-such-model", contents="x"), genai_errors.ClientError, status=404
    )
    raises(
        lambda: one.models.generate_content(model=route.model, contents=[]),
        genai_errors.ClientError,
        ValueError,
    )
    raises(
        lambda: client(route, "wrong").models.generate_content(model=route.model, contents="x"),
        genai_errors.ClientError,
    )
    raises(
        lambda: one.models.generate_content(model=route.model, contents=prompts.RATE_LIMIT),
        genai_errors.ClientError,
        status=429,
    )


def limits(route: Route) -> None:
    slot = client(route, SLOT_KEY).models
    release = hold(lambda: slot.generate_content_stream(model=route.model, contents=prompts.HELD))
    refused = raises(
        lambda: slot.generate_content(model=route.model, contents="x"), genai_errors.ClientError, status=429
    )
    details = {detail["@type"].split(".")[-1]: detail for detail in refused.details["error"]["details"]}
    equal(refused.status, "RESOURCE_EXHAUSTED")
    equal(details["ErrorInfo"]["reason"], "rate_limit_exceeded")
    equal(details["QuotaFailure"]["violations"][0]["subject"], "key:slot")
    equal(details["RetryInfo"]["retryDelay"], "1s")
    # This SDK tries again only where it is asked to, after delays of its own.
    options = types.HttpOptions(
        base_url=route.base,
        timeout=30_000,
        retry_options=types.HttpRetryOptions(attempts=5, initial_delay=1, http_status_codes=[429]),
    )
    repeating = genai.Client(api_key=SLOT_KEY, http_options=options)
    Timer(0.3, release).start()
    equal(repeating.models.generate_content(model=route.model, contents=prompts.WHOLE).text, "Hello from the model")
    if route.name != "chat":
        return
    spent = spend(
        lambda: client(route, SPENT_KEY).models.generate_content(model=route.model, contents=prompts.WHOLE),
        genai_errors.ClientError,
    )
    equal((spent.code, spent.details["error"]["details"][0]["reason"]), (429, "budget_exceeded"))


def broken_stream(route: Route) -> None:
    def read() -> str:
        chunks = client(route).models.generate_content_stream(model=route.model, contents=prompts.BROKEN)
        return "".join(chunk.text or "" for chunk in chunks)

    raises(read, Exception)


def early_head(route: Route) -> None:
    early = genai.Client(api_key=KEY, http_options=types.HttpOptions(base_url=route.head_base, timeout=30_000))

    def read(prompt: str) -> str:
        chunks = early.models.generate_content_stream(model=route.model, contents=prompt)
        return "".join(chunk.text or "" for chunk in chunks)

    equal(read(prompts.SILENT), "done")
    raises(lambda: read(prompts.SILENT_FAILURE), genai_errors.APIError)


def cancelled(route: Route) -> None:
    chunks = client(route).models.generate_content_stream(model=route.model, contents=prompts.LONG)
    for chunk in chunks:
        if chunk.text:
            break
    chunks.close()


def models(route: Route) -> None:
    names = [model.name or "" for model in client(route).models.list()]
    assert f"models/{route.model}" in names, "the model is not listed"


def embeddings(route: Route) -> None:
    answer = client(route).models.embed_content(model=route.embeddings, contents=["one", "two"])
    equal(len(answer.embeddings), 2)
    assert isinstance(answer.embeddings[0].values[0], float)


run(
    "google-genai",
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
