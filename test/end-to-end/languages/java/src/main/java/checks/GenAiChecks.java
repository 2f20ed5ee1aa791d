package checks;

import static checks.Checks.*;

import com.google.genai.Client;
import com.google.genai.ResponseStream;
import com.google.genai.errors.ApiException;
import com.google.genai.types.EmbedContentConfig;
import com.google.genai.types.GenerateContentConfig;
import com.google.genai.types.GenerateContentResponse;
import com.google.genai.types.HttpOptions;
import com.google.genai.types.HttpRetryOptions;
import com.google.genai.types.ListModelsConfig;
import com.google.genai.types.Model;
import com.google.genai.types.Tool;
import java.lang.reflect.Method;
import java.util.List;
import java.util.Map;

/** The official {@code google-genai} package of Java, its automatic function calling included. */
public final class GenAiChecks {
    private static Client client(Route route, String key) {
        return Client.builder()
                .apiKey(key)
                .httpOptions(HttpOptions.builder()
                        .baseUrl(route.base())
                        .timeout(30_000)
                        .retryOptions(HttpRetryOptions.builder().attempts(1).build())
                        .build())
                .build();
    }

    /** The function that the SDK calls by itself. */
    public static Map<String, Object> get_weather(String city) {
        equal(city, "Oslo");
        return Map.of("degrees", 7);
    }

    private static String read(Route route, String prompt) throws Exception {
        StringBuilder text = new StringBuilder();
        try (ResponseStream<GenerateContentResponse> stream =
                client(route, KEY).models.generateContentStream(route.model(), prompt, null)) {
            for (GenerateContentResponse chunk : stream) if (chunk.text() != null) text.append(chunk.text());
        }
        return text.toString();
    }

    static Map<String, Check> all() {
        Map<String, Check> checks = list();
        checks.put("whole", route -> equal(
                client(route, KEY).models.generateContent(route.model(), WHOLE, null).text(), "Hello from the model"));
        checks.put("streamed", route -> equal(read(route, STREAMED), "Hello there"));
        checks.put("tool loop", route -> {
            Method method = GenAiChecks.class.getMethod("get_weather", String.class);
            GenerateContentConfig config = GenerateContentConfig.builder()
                    .tools(Tool.builder().functions(method).build()).build();
            equal(client(route, KEY).models.generateContent(route.model(), TOOL, config).text(), "It is 7 degrees");
        });
        checks.put("structured output", route -> {
            GenerateContentConfig config = GenerateContentConfig.builder()
                    .responseMimeType("application/json")
                    .responseJsonSchema(Map.of(
                            "type", "object",
                            "properties", Map.of("city", Map.of("type", "string")),
                            "required", List.of("city")))
                    .build();
            String text = client(route, KEY).models.generateContent(route.model(), "Where?", config).text();
            holds(JSON.readValue(text, Map.class).containsKey("city"), "the city is missing in " + text);
        });
        checks.put("errors", route -> {
            equal(raises(ApiException.class, () ->
                    client(route, KEY).models.generateContent("no-such-model", "x", null)).code(), 404);
            equal(raises(ApiException.class, () ->
                    client(route, KEY).models.generateContent(route.model(), RATE_LIMIT, null)).code(), 429);
            raises(ApiException.class, () ->
                    client(route, "wrong").models.generateContent(route.model(), "x", null));
        });
        checks.put("broken stream", route -> raises(Exception.class, () -> read(route, BROKEN)));
        checks.put("early head", route -> {
            equal(read(route.early(), SILENT), "done");
            raises(Exception.class, () -> read(route.early(), SILENT_FAILURE));
        });
        checks.put("cancelled", route -> {
            try (ResponseStream<GenerateContentResponse> stream =
                    client(route, KEY).models.generateContentStream(route.model(), LONG, null)) {
                for (GenerateContentResponse chunk : stream) if (chunk.text() != null) return;
                throw new AssertionError("the stream ended");
            }
        });
        checks.put("models", route -> {
            for (Model model : client(route, KEY).models.list(ListModelsConfig.builder().build())) {
                if (model.name().orElse("").equals("models/" + route.model())) return;
            }
            throw new AssertionError("the model is not listed");
        });
        checks.put("embeddings", route -> {
            var answer = client(route, KEY).models.embedContent(
                    route.embeddings(), List.of("one", "two"), EmbedContentConfig.builder().build());
            equal(answer.embeddings().map(List::size).orElse(0), 2);
        });
        return checks;
    }

    private GenAiChecks() {}
}
