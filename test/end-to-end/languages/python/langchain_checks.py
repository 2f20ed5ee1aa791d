"""LangChain's chat models of the three families."""

from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_openai import ChatOpenAI
from pydantic import BaseModel

import prompts
from checks import KEY, Route, equal, raises, run


class Answer(BaseModel):
    """Where it is how warm."""

    city: str
    degrees: int


@tool
def get_weather(city: str) -> str:
    """Tells the weather of a city."""
    return '{"degrees": 7}'


def create_openai(route: Route):
    return ChatOpenAI(model=route.model, base_url=route.base, api_key=KEY, max_retries=0, timeout=30)


def create_responses(route: Route):
    return ChatOpenAI(
        model=route.model, base_url=route.base, api_key=KEY, max_retries=0, timeout=30, use_responses_api=True
    )


def create_anthropic(route: Route):
    base = route.base if route.prefix != "/v1" else route.base[: -len("/v1")]
    return ChatAnthropic(model=route.model, base_url=base, api_key=KEY, max_retries=0, timeout=30, max_tokens=200)


def create_google(route: Route):
    return ChatGoogleGenerativeAI(
        model=route.model, base_url=route.base, google_api_key=KEY, max_retries=0, timeout=30, vertexai=False
    )


def write_checks(create):
    def whole(route: Route) -> None:
        equal(create(route).invoke(prompts.WHOLE).text, "Hello from the model")

    def streamed(route: Route) -> None:
        equal("".join(chunk.text for chunk in create(route).stream(prompts.STREAMED)), "Hello there")

    def tool_loop(route: Route) -> None:
        model = create(route).bind_tools([get_weather])
        for is_stream in (False, True):
            messages: list = [HumanMessage(prompts.TOOL)]
            for turn in (1, 2):
                if is_stream:
                    answer = None
                    for chunk in model.stream(messages):
                        answer = chunk if answer is None else answer + chunk
                else:
                    answer = model.invoke(messages)
                if turn == 2:
                    equal(answer.text, "It is 7 degrees")
                    break
                equal([(call["name"], call["args"]) for call in answer.tool_calls],
                      [("get_weather", {"city": "Oslo"})])
                messages.append(answer)
                messages.append(ToolMessage('{"degrees": 7}', tool_call_id=answer.tool_calls[0]["id"]))

    def structured(route: Route) -> None:
        answer = create(route).with_structured_output(Answer, method="json_schema").invoke("Where?")
        assert isinstance(answer, Answer), answer

    def broken_stream(route: Route) -> None:
        raises(lambda: list(create(route).stream(prompts.BROKEN)), Exception)

    return {
        "whole": whole,
        "streamed": streamed,
        "tool loop": tool_loop,
        "structured output": structured,
        "broken stream": broken_stream,
    }


run("langchain-openai", write_checks(create_openai))
run("langchain-openai responses", write_checks(create_responses))
run("langchain-anthropic", write_checks(create_anthropic))
run("langchain-google-genai", write_checks(create_google))
