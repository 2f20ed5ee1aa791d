package checks;

import static checks.Checks.*;

import com.anthropic.client.AnthropicClient;
import com.anthropic.client.okhttp.AnthropicOkHttpClient;
import com.anthropic.core.JsonValue;
import com.anthropic.core.http.StreamResponse;
import com.anthropic.errors.BadRequestException;
import com.anthropic.errors.NotFoundException;
import com.anthropic.errors.RateLimitException;
import com.anthropic.errors.UnauthorizedException;
import com.anthropic.helpers.MessageAccumulator;
import com.anthropic.models.messages.ContentBlockParam;
import com.anthropic.models.messages.Message;
import com.anthropic.models.messages.MessageCreateParams;
import com.anthropic.models.messages.RawMessageStreamEvent;
import com.anthropic.models.messages.StopReason;
import com.anthropic.models.messages.Tool;
import com.anthropic.models.messages.ToolResultBlockParam;
import com.anthropic.models.messages.ToolUseBlock;
import java.time.Duration;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/** The official {@code anthropic-java} package. */
final class AnthropicChecks {
    private static AnthropicClient client(Route route, String key) {
        return AnthropicOkHttpClient.builder()
                .baseUrl(route.anthropicBase())
                .apiKey(key)
                .maxRetries(0)
                .timeout(Duration.ofSeconds(30))
                .build();
    }

    private static MessageCreateParams.Builder ask(String model, String text) {
        return MessageCreateParams.builder().model(model).maxTokens(1000).addUserMessage(text);
    }

    private static Message read(Route route, MessageCreateParams params) {
        MessageAccumulator sum = MessageAccumulator.create();
        try (StreamResponse<RawMessageStreamEvent> stream = client(route, KEY).messages().createStreaming(params)) {
            stream.stream().forEach(sum::accumulate);
        }
        return sum.message();
    }

    private static String textOf(Message message) {
        StringBuilder text = new StringBuilder();
        message.content().forEach(block -> block.text().ifPresent(one -> text.append(one.text())));
        return text.toString();
    }

    static Map<String, Check> all() {
        Map<String, Check> checks = list();
        checks.put("whole", route -> {
            Message answer = client(route, KEY).messages().create(ask(route.model(), WHOLE).build());
            equal(textOf(answer), "Hello from the model");
            equal(answer.stopReason().orElse(null), StopReason.END_TURN);
        });
        checks.put("streamed", route -> {
            Message answer = read(route, ask(route.model(), STREAMED).build());
            equal(textOf(answer), "Hello there");
            holds(answer.usage().outputTokens() > 0, "the usage is missing");
        });
        checks.put("tool loop", route -> {
            for (boolean isStream : new boolean[] {false, true}) {
                MessageCreateParams.Builder params = ask(route.model(), TOOL)
                        .addTool(Tool.builder()
                                .name("get_weather")
                                .inputSchema(Tool.InputSchema.builder()
                                        .properties(JsonValue.from(Map.of("city", Map.of("type", "string"))))
                                        .required(List.of("city"))
                                        .build())
                                .build());
                for (int turn = 1; ; turn++) {
                    Message answer = isStream
                            ? read(route, params.build())
                            : client(route, KEY).messages().create(params.build());
                    if (turn == 2) {
                        equal(textOf(answer), "It is 7 degrees");
                        break;
                    }
                    List<ToolUseBlock> calls =
                            answer.content().stream().flatMap(block -> block.toolUse().stream()).toList();
                    equal(calls.size(), 1);
                    equal(calls.get(0).name(), "get_weather");
                    equal(calls.get(0)._input().convert(Map.class), Map.of("city", "Oslo"));
                    params.addMessage(answer)
                            .addUserMessageOfContentBlockParams(List.of(ContentBlockParam.ofToolResult(
                                    ToolResultBlockParam.builder()
                                            .toolUseId(calls.get(0).id()).content("{\"degrees\": 7}").build())));
                }
            }
        });
        checks.put("errors", route -> {
            raises(NotFoundException.class, () -> client(route, KEY).messages().create(ask("no/such/model", "x").build()));
            raises(RateLimitException.class, () -> client(route, KEY).messages().create(ask(route.model(), RATE_LIMIT).build()));
            raises(BadRequestException.class, () -> client(route, KEY).messages().create(
                    MessageCreateParams.builder().model(route.model()).maxTokens(9).messages(List.of()).build()));
            raises(UnauthorizedException.class, () -> client(route, "wrong").messages().create(ask(route.model(), "x").build()));
        });
        checks.put("broken stream", route ->
                raises(Exception.class, () -> read(route, ask(route.model(), BROKEN).build())));
        checks.put("early head", route -> {
            equal(textOf(read(route.early(), ask(route.model(), SILENT).build())), "done");
            raises(Exception.class, () -> read(route.early(), ask(route.model(), SILENT_FAILURE).build()));
        });
        checks.put("cancelled", route -> {
            try (StreamResponse<RawMessageStreamEvent> stream =
                    client(route, KEY).messages().createStreaming(ask(route.model(), LONG).build())) {
                Iterator<RawMessageStreamEvent> events = stream.stream().iterator();
                while (events.hasNext()) if (events.next().isContentBlockDelta()) return;
                throw new AssertionError("the stream ended");
            }
        });
        checks.put("models", route -> holds(
                client(route, KEY).models().list().autoPager().stream()
                        .anyMatch(model -> model.id().equals(route.model())),
                "the model is not listed"));
        return checks;
    }

    private AnthropicChecks() {}
}
