package checks;

import static checks.Checks.*;

import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.core.JsonValue;
import com.openai.core.http.StreamResponse;
import com.openai.errors.BadRequestException;
import com.openai.errors.NotFoundException;
import com.openai.errors.RateLimitException;
import com.openai.errors.UnauthorizedException;
import com.openai.helpers.ChatCompletionAccumulator;
import com.openai.helpers.ResponseAccumulator;
import com.openai.models.FunctionDefinition;
import com.openai.models.FunctionParameters;
import com.openai.models.chat.completions.ChatCompletion;
import com.openai.models.chat.completions.ChatCompletionChunk;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.chat.completions.ChatCompletionFunctionTool;
import com.openai.models.chat.completions.ChatCompletionMessage;
import com.openai.models.chat.completions.ChatCompletionMessageFunctionToolCall;
import com.openai.models.chat.completions.ChatCompletionStreamOptions;
import com.openai.models.chat.completions.ChatCompletionToolMessageParam;
import com.openai.models.embeddings.EmbeddingCreateParams;
import com.openai.models.responses.EasyInputMessage;
import com.openai.models.responses.FunctionTool;
import com.openai.models.responses.Response;
import com.openai.models.responses.ResponseCreateParams;
import com.openai.models.responses.ResponseFunctionToolCall;
import com.openai.models.responses.ResponseInputItem;
import com.openai.models.responses.ResponseOutputItem;
import com.openai.models.responses.ResponseStreamEvent;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/** The official {@code openai-java} package: chat completions and Responses. */
final class OpenAiChecks {
    /** What the structured output is read into. */
    public static class Answer {
        public String city;
        public int degrees;
    }

    private static final Map<String, Object> CITY = Map.of(
            "type", "object",
            "properties", Map.of("city", Map.of("type", "string")),
            "required", List.of("city"),
            "additionalProperties", false);

    private static OpenAIClient client(Route route, String key) {
        return OpenAIOkHttpClient.builder()
                .baseUrl(route.base())
                .apiKey(key)
                .maxRetries(0)
                .timeout(Duration.ofSeconds(30))
                .build();
    }

    private static ChatCompletionCreateParams.Builder ask(String model, String text) {
        return ChatCompletionCreateParams.builder().model(model).addUserMessage(text);
    }

    /** Reads a stream with the accumulator of the SDK, which throws where a chunk is not what it expects. */
    private static ChatCompletion accumulate(Route route, ChatCompletionCreateParams params) {
        ChatCompletionAccumulator sum = ChatCompletionAccumulator.create();
        try (StreamResponse<ChatCompletionChunk> stream =
                client(route, KEY).chat().completions().createStreaming(params)) {
            stream.stream().forEach(sum::accumulate);
        }
        return sum.chatCompletion();
    }

    static Map<String, Check> chat() {
        Map<String, Check> checks = list();
        checks.put("whole", route -> {
            ChatCompletion answer =
                    client(route, KEY).chat().completions().create(ask(route.model(), WHOLE).build());
            equal(answer.choices().get(0).message().content().orElse(null), "Hello from the model");
            equal(answer.model(), route.model());
        });
        checks.put("streamed", route -> {
            ChatCompletion plain = accumulate(route, ask(route.model(), STREAMED).build());
            equal(plain.choices().get(0).message().content().orElse(null), "Hello there");
            ChatCompletion counted = accumulate(
                    route,
                    ask(route.model(), STREAMED)
                            .streamOptions(ChatCompletionStreamOptions.builder().includeUsage(true).build())
                            .build());
            equal(counted.choices().get(0).message().content().orElse(null), "Hello there");
            holds(counted.usage().isPresent(), "the usage is missing");
        });
        checks.put("tool loop", route -> {
            for (boolean isStream : new boolean[] {false, true}) {
                FunctionParameters.Builder parameters = FunctionParameters.builder();
                CITY.forEach((name, value) -> parameters.putAdditionalProperty(name, JsonValue.from(value)));
                ChatCompletionCreateParams.Builder params = ask(route.model(), TOOL)
                        .addTool(ChatCompletionFunctionTool.builder()
                                .function(FunctionDefinition.builder()
                                        .name("get_weather")
                                        .strict(true)
                                        .parameters(parameters.build())
                                        .build())
                                .build());
                for (int turn = 1; ; turn++) {
                    ChatCompletion answer = isStream
                            ? accumulate(route, params.build())
                            : client(route, KEY).chat().completions().create(params.build());
                    ChatCompletionMessage message = answer.choices().get(0).message();
                    if (turn == 2) {
                        equal(message.content().orElse(null), "It is 7 degrees");
                        break;
                    }
                    equal(message.toolCalls().map(List::size).orElse(0), 1);
                    ChatCompletionMessageFunctionToolCall call =
                            message.toolCalls().get().get(0).asFunction();
                    equal(call.function().name(), "get_weather");
                    equal(JSON.readValue(call.function().arguments(), Map.class), Map.of("city", "Oslo"));
                    params.addMessage(message)
                            .addMessage(ChatCompletionToolMessageParam.builder()
                                    .toolCallId(call.id())
                                    .content("{\"degrees\": 7}")
                                    .build());
                }
            }
        });
        checks.put("structured output", route -> {
            var answer = client(route, KEY)
                    .chat()
                    .completions()
                    .create(ask(route.model(), "Where?").responseFormat(Answer.class).build());
            holds(answer.choices().get(0).message().content().get().city != null, "the city is missing");
        });
        checks.put("errors", route -> {
            raises(NotFoundException.class, () -> client(route, KEY)
                    .chat().completions().create(ask("no/such/model", "x").build()));
            raises(RateLimitException.class, () -> client(route, KEY)
                    .chat().completions().create(ask(route.model(), RATE_LIMIT).build()));
            raises(BadRequestException.class, () -> client(route, KEY)
                    .chat().completions().create(ChatCompletionCreateParams.builder()
                            .model(route.model()).messages(List.of()).build()));
            raises(UnauthorizedException.class, () -> client(route, "wrong")
                    .chat().completions().create(ask(route.model(), "x").build()));
        });
        checks.put("broken stream", route -> raises(
                Exception.class, () -> accumulate(route, ask(route.model(), BROKEN).build())));
        checks.put("early head", route -> {
            ChatCompletion late = accumulate(route.early(), ask(route.model(), SILENT).build());
            equal(late.choices().get(0).message().content().orElse(null), "done");
            raises(Exception.class, () -> accumulate(route.early(), ask(route.model(), SILENT_FAILURE).build()));
        });
        checks.put("cancelled", route -> {
            try (StreamResponse<ChatCompletionChunk> stream = client(route, KEY)
                    .chat().completions().createStreaming(ask(route.model(), LONG).build())) {
                Iterator<ChatCompletionChunk> chunks = stream.stream().iterator();
                while (chunks.hasNext()) {
                    ChatCompletionChunk chunk = chunks.next();
                    if (!chunk.choices().isEmpty()
                            && chunk.choices().get(0).delta().content().filter(text -> !text.isEmpty()).isPresent()) return;
                }
                throw new AssertionError("the stream ended");
            }
        });
        checks.put("models", route -> holds(
                client(route, KEY).models().list().autoPager().stream()
                        .anyMatch(model -> model.id().equals(route.model())),
                "the model is not listed"));
        checks.put("embeddings", route -> {
            var answer = client(route, KEY)
                    .embeddings()
                    .create(EmbeddingCreateParams.builder()
                            .model(route.embeddings())
                            .inputOfArrayOfStrings(List.of("one", "two"))
                            .build());
            equal(answer.data().size(), 2);
            holds(!answer.data().get(0).embedding().isEmpty(), "the vector is empty");
        });
        return checks;
    }

    private static Response read(Route route, ResponseCreateParams params) {
        ResponseAccumulator sum = ResponseAccumulator.create();
        try (StreamResponse<ResponseStreamEvent> stream = client(route, KEY).responses().createStreaming(params)) {
            stream.stream().forEach(sum::accumulate);
        }
        Response response = sum.response();
        equal(response.status().map(Object::toString).orElse(null), "completed");
        return response;
    }

    private static String textOf(Response response) {
        StringBuilder text = new StringBuilder();
        for (ResponseOutputItem item : response.output()) {
            item.message().ifPresent(message -> message.content().forEach(
                    part -> part.outputText().ifPresent(output -> text.append(output.text()))));
        }
        return text.toString();
    }

    static Map<String, Check> responses() {
        Map<String, Check> checks = list();
        checks.put("whole", route -> equal(
                textOf(client(route, KEY).responses().create(
                        ResponseCreateParams.builder().model(route.model()).input(WHOLE).build())),
                "Hello from the model"));
        checks.put("streamed", route -> equal(
                textOf(read(route, ResponseCreateParams.builder().model(route.model()).input(STREAMED).build())),
                "Hello there"));
        checks.put("tool loop", route -> {
            for (boolean isStream : new boolean[] {false, true}) {
                List<ResponseInputItem> items = new ArrayList<>();
                items.add(ResponseInputItem.ofEasyInputMessage(
                        EasyInputMessage.builder().role(EasyInputMessage.Role.USER).content(TOOL).build()));
                FunctionTool.Parameters.Builder parameters = FunctionTool.Parameters.builder();
                CITY.forEach((name, value) -> parameters.putAdditionalProperty(name, JsonValue.from(value)));
                for (int turn = 1; ; turn++) {
                    ResponseCreateParams params = ResponseCreateParams.builder()
                            .model(route.model())
                            .inputOfResponse(items)
                            .addTool(FunctionTool.builder()
                                    .name("get_weather").strict(true).parameters(parameters.build()).build())
                            .build();
                    Response answer = isStream ? read(route, params) : client(route, KEY).responses().create(params);
                    if (turn == 2) {
                        equal(textOf(answer), "It is 7 degrees");
                        break;
                    }
                    int count = 0;
                    for (ResponseOutputItem item : answer.output()) {
                        if (!item.isFunctionCall()) continue;
                        count++;
                        ResponseFunctionToolCall call = item.asFunctionCall();
                        equal(call.name(), "get_weather");
                        equal(JSON.readValue(call.arguments(), Map.class), Map.of("city", "Oslo"));
                        items.add(ResponseInputItem.ofFunctionCall(call));
                        items.add(ResponseInputItem.ofFunctionCallOutput(ResponseInputItem.FunctionCallOutput.builder()
                                .callId(call.callId()).output("{\"degrees\": 7}").build()));
                    }
                    equal(count, 1);
                }
            }
        });
        checks.put("early head", route -> {
            ResponseCreateParams.Builder params = ResponseCreateParams.builder().model(route.model());
            equal(textOf(read(route.early(), params.input(SILENT).build())), "done");
            raises(Throwable.class, () -> read(route.early(), params.input(SILENT_FAILURE).build()));
        });
        checks.put("broken stream", route -> raises(Throwable.class, () -> read(
                route, ResponseCreateParams.builder().model(route.model()).input(BROKEN).build())));
        return checks;
    }

    private OpenAiChecks() {}
}
