"""LlamaIndex, which needs an older generation of `openai` than the other checks."""

from typing import Any

from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai import OpenAIResponses

from checks import KEY, Route, run
from conversation import TURNS_MAX, Say, Weather, check


def start_llama_index(route: Route, weather: Weather, is_stream: bool) -> Say:
    def get_weather(city: str) -> str:
        """Tells the weather of a city."""
        return weather.ask(city)

    one = FunctionTool.from_defaults(fn=get_weather)
    model = OpenAIResponses(
        model=route.model,
        api_base=route.base,
        api_key=KEY,
        max_retries=0,
        timeout=30,
        store=True,
        track_previous_responses=True,
        context_window=128_000,
    )

    def ask(messages: list[ChatMessage]) -> Any:
        if not is_stream:
            return model.chat_with_tools(tools=[one], chat_history=messages)
        last = None
        for last in model.stream_chat_with_tools(tools=[one], chat_history=messages):
            pass
        return last

    def say(prompt: str) -> str:
        messages = [ChatMessage(role="user", content=prompt)]
        for _ in range(TURNS_MAX):
            answer = ask(messages)
            calls = model.get_tool_calls_from_response(answer, error_on_no_tool_call=False)
            if not calls:
                return str(answer.message.content)
            messages = [
                ChatMessage(
                    role="tool",
                    content=str(one(**call.tool_kwargs)),
                    additional_kwargs={"call_id": call.tool_id, "tool_call_id": call.tool_id},
                )
                for call in calls
            ]
        raise AssertionError("the loop does not end")

    return say


if __name__ == "__main__":
    run("llama-index", check(start_llama_index))
