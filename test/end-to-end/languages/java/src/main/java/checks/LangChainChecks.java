package checks;

import static checks.Checks.*;

import dev.langchain4j.agent.tool.ToolSpecification;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.model.anthropic.AnthropicChatModel;
import dev.langchain4j.model.anthropic.AnthropicStreamingChatModel;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.StreamingChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.json.JsonObjectSchema;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import dev.langchain4j.model.googleai.GoogleAiGeminiChatModel;
import dev.langchain4j.model.googleai.GoogleAiGeminiStreamingChatModel;
import dev.langchain4j.model.openai.OpenAiChatModel;
import dev.langchain4j.model.openai.OpenAiStreamingChatModel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/** LangChain4j's chat models of the three families. They ignore error frames of a stream. */
final class LangChainChecks {
    private static final Duration TIMEOUT = Duration.ofSeconds(30);

    private static ChatResponse stream(StreamingChatModel model, ChatRequest request) throws Exception {
        CompletableFuture<ChatResponse> whole = new CompletableFuture<>();
        model.chat(request, new StreamingChatResponseHandler() {
            @Override
            public void onPartialResponse(String piece) {}

            @Override
            public void onCompleteResponse(ChatResponse response) {
                whole.complete(response);
            }

            @Override
            public void onError(Throwable error) {
                whole.completeExceptionally(error);
            }
        });
        return whole.get(30, TimeUnit.SECONDS);
    }

    private static Map<String, Check> write(Function<Route, ChatModel> create, Function<Route, StreamingChatModel> createStream) {
        Map<String, Check> checks = list();
        checks.put("whole", route -> equal(create.apply(route).chat(WHOLE), "Hello from the model"));
        checks.put("streamed", route -> equal(
                stream(createStream.apply(route), ChatRequest.builder().messages(UserMessage.from(STREAMED)).build())
                        .aiMessage().text(),
                "Hello there"));
        checks.put("tool loop", route -> {
            ToolSpecification tool = ToolSpecification.builder()
                    .name("get_weather")
                    .description("Tells the weather of a city.")
                    .parameters(JsonObjectSchema.builder().addStringProperty("city").required("city").build())
                    .build();
            for (boolean isStream : new boolean[] {false, true}) {
                List<ChatMessage> messages = new ArrayList<>(List.of(UserMessage.from(TOOL)));
                for (int turn = 1; ; turn++) {
                    ChatRequest request = ChatRequest.builder().messages(messages).toolSpecifications(tool).build();
                    AiMessage message = (isStream
                                    ? stream(createStream.apply(route), request)
                                    : create.apply(route).chat(request))
                            .aiMessage();
                    if (turn == 2) {
                        equal(message.text(), "It is 7 degrees");
                        break;
                    }
                    equal(message.toolExecutionRequests().size(), 1);
                    var call = message.toolExecutionRequests().get(0);
                    equal(JSON.readValue(call.arguments(), Map.class), Map.of("city", "Oslo"));
                    messages.add(message);
                    messages.add(ToolExecutionResultMessage.from(call, "{\"degrees\": 7}"));
                }
            }
        });
        checks.put("early head", route -> {
            StreamingChatModel model = createStream.apply(route.early());
            equal(stream(model, ChatRequest.builder().messages(UserMessage.from(SILENT)).build()).aiMessage().text(), "done");
            raises(Exception.class, () ->
                    stream(model, ChatRequest.builder().messages(UserMessage.from(SILENT_FAILURE)).build()).aiMessage().text());
        });
        checks.put("broken stream", route -> raises(Exception.class, () ->
                stream(createStream.apply(route), ChatRequest.builder().messages(UserMessage.from(BROKEN)).build())
                        .aiMessage().text()));
        return checks;
    }

    static Map<String, Check> openAi() {
        return write(
                route -> OpenAiChatModel.builder().baseUrl(route.base()).apiKey(KEY).modelName(route.model())
                        .maxRetries(0).timeout(TIMEOUT).build(),
                route -> OpenAiStreamingChatModel.builder().baseUrl(route.base()).apiKey(KEY)
                        .modelName(route.model()).timeout(TIMEOUT).build());
    }

    static Map<String, Check> anthropic() {
        // This framework writes the version into the base URL.
        return write(
                route -> AnthropicChatModel.builder().baseUrl(route.base()).apiKey(KEY).modelName(route.model())
                        .maxTokens(1000).maxRetries(0).timeout(TIMEOUT).build(),
                route -> AnthropicStreamingChatModel.builder().baseUrl(route.base()).apiKey(KEY)
                        .modelName(route.model()).maxTokens(1000).timeout(TIMEOUT).build());
    }

    static Map<String, Check> google() {
        // Newer models refuse a call of the running turn without its signature, which the framework repeats only so.
        return write(
                route -> GoogleAiGeminiChatModel.builder().baseUrl(route.base() + "/v1beta").apiKey(KEY)
                        .modelName(route.model()).returnThinking(true).sendThinking(true)
                        .maxRetries(0).timeout(TIMEOUT).build(),
                route -> GoogleAiGeminiStreamingChatModel.builder().baseUrl(route.base() + "/v1beta").apiKey(KEY)
                        .modelName(route.model()).returnThinking(true).sendThinking(true)
                        .timeout(TIMEOUT).build());
    }

    private LangChainChecks() {}
}
