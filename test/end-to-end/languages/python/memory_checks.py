"""Clients that leave their history to the gateway: a conversation of three prompts, two of which call a tool."""

import asyncio
import json
from typing import Any, Callable

from agents import (
    Agent,
    OpenAIConversationsSession,
    OpenAIResponsesModel,
    Runner,
    SQLiteSession,
    function_tool,
    set_tracing_disabled,
)
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from openai import AsyncOpenAI, OpenAI

from checks import CITY, KEY, Route, run
from conversation import TURNS_MAX, Say, Weather, check

set_tracing_disabled(True)


def start_openai(place: Callable[[OpenAI, Any], dict[str, Any]]) -> Callable[[Route, Weather, bool], Say]:
    """`place` says what a request continues, from the response before it."""

    def start(route: Route, weather: Weather, is_stream: bool) -> Say:
        client = OpenAI(base_url=route.base, api_key=KEY, max_retries=0, timeout=30)
        tools = [{"type": "function", "name": "get_weather", "parameters": CITY}]
        last: Any = None
        state = place(client, None)

        def say(prompt: str) -> str:
            nonlocal last
            items: list = [{"role": "user", "content": prompt}]
            for _ in range(TURNS_MAX):
                more = state if last is None else (place(client, last) or state)
                if is_stream:
                    with client.responses.stream(model=route.model, input=items, tools=tools, **more) as stream:
                        last = stream.get_final_response()
                else:
                    last = client.responses.create(model=route.model, input=items, tools=tools, **more)
                calls = [item for item in last.output if item.type == "function_call"]
                if not calls:
                    return last.output_text
                items = [
                    {
                        "type": "function_call_output",
                        "call_id": call.call_id,
                        "output": weather.ask(json.loads(call.arguments)["city"]),
                    }
                    for call in calls
                ]
            raise AssertionError("the loop does not end")

        return say

    return start


def follow(_client: OpenAI, last: Any) -> dict[str, Any]:
    return {} if last is None else {"previous_response_id": last.id}


def open_conversation(client: OpenAI, last: Any) -> dict[str, Any]:
    return {"conversation": client.conversations.create().id} if last is None else {}


def start_langchain(route: Route, weather: Weather, is_stream: bool) -> Say:
    @tool
    def get_weather(city: str) -> str:
        """Tells the weather of a city."""
        return weather.ask(city)

    # It sends only what follows the newest response that it finds in the messages.
    model = ChatOpenAI(
        model=route.model,
        base_url=route.base,
        api_key=KEY,
        max_retries=0,
        timeout=30,
        use_responses_api=True,
        use_previous_response_id=True,
    ).bind_tools([get_weather])
    messages: list[BaseMessage] = []

    def ask() -> Any:
        if not is_stream:
            return model.invoke(messages)
        total = None
        for chunk in model.stream(messages):
            total = chunk if total is None else total + chunk
        return total

    def say(prompt: str) -> str:
        messages.append(HumanMessage(prompt))
        for _ in range(TURNS_MAX):
            answer = ask()
            messages.append(answer)
            if not answer.tool_calls:
                return str(answer.text)
            messages.extend(get_weather.invoke(call) for call in answer.tool_calls)
        raise AssertionError("the loop does not end")

    return say


def start_agents(kind: str) -> Callable[[Route, Weather, bool], Say]:
    def start(route: Route, weather: Weather, is_stream: bool) -> Say:
        loop = asyncio.new_event_loop()
        client = AsyncOpenAI(base_url=route.base, api_key=KEY, max_retries=0, timeout=30)

        @function_tool
        def get_weather(city: str) -> str:
            """Tells the weather of a city."""
            return weather.ask(city)

        agent = Agent(name="agent", model=OpenAIResponsesModel(route.model, client), tools=[get_weather])
        state: dict[str, Any] = {}
        if kind == "session":
            state["session"] = OpenAIConversationsSession(openai_client=client)
        if kind == "session of its own":
            state["session"] = SQLiteSession("one")

        async def ask(prompt: str) -> Any:
            if not is_stream:
                return await Runner.run(agent, prompt, **state)
            result = Runner.run_streamed(agent, prompt, **state)
            async for _event in result.stream_events():
                pass
            return result

        def say(prompt: str) -> str:
            result = loop.run_until_complete(ask(prompt))
            if kind == "previous_response_id":
                state["previous_response_id"] = result.last_response_id
            return str(result.final_output)

        return say

    return start


if __name__ == "__main__":
    run("openai, previous_response_id", check(start_openai(follow)))
    run("openai, conversation", check(start_openai(open_conversation)))
    run("langchain-openai, use_previous_response_id", check(start_langchain))
    for name in ("previous_response_id", "session", "session of its own"):
        run(f"openai-agents, {name}", check(start_agents(name)))
