package checks;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** Runs checks of the official SDKs against a gateway and reports each one as a line of JSON, as {@code python/checks.py} does. */
public final class Checks {
    // Prompts whose answer the provider of the tests determines.
    static final String WHOLE = "[[text:Hello from the model]]";
    static final String STREAMED = "[[chunks:[\"Hel\",\"lo \",\"there\"]]]";
    static final String TOOL = "[[tool:get_weather {\"city\":\"Oslo\"}]] [[step]] [[text:It is 7 degrees]]";
    static final String BROKEN = "[[chunks:[\"one\",\"two\",\"three\",\"four\"]]] [[die:2]]";
    static final String LONG = "[[len:2000]] [[tick:20]]";
    static final String SILENT = "[[slow:1200]] [[text:done]]";
    /** Its error comes behind the head of the stream. */
    static final String SILENT_FAILURE = "[[slow:1200]] [[error:500]]";
    static final String RATE_LIMIT = "[[error:429 retry=1]]";

    static final ObjectMapper JSON = new ObjectMapper();
    static final String KEY = System.getenv("GATEWAY_KEY");

    /** A version of the gateway's API and a model behind it; {@code embeddings} may be absent. */
    record Route(String name, String prefix, String model, String embeddings, boolean isEarly) {
        /** The same of the gateway whose streams begin before the provider's first event. */
        Route early() {
            return new Route(name, prefix, model, embeddings, true);
        }

        private String gateway() {
            return System.getenv(isEarly ? "HEAD_URL" : "GATEWAY_URL");
        }

        String base() {
            return gateway() + prefix;
        }

        /** The Anthropic SDK adds /v1 to the path by itself. */
        String anthropicBase() {
            return prefix.equals("/v1") ? gateway() : base();
        }
    }

    interface Check {
        void run(Route route) throws Exception;
    }

    static Map<String, Check> list() {
        return new LinkedHashMap<>();
    }

    static void equal(Object seen, Object wanted) {
        if (!Objects.equals(seen, wanted)) throw new AssertionError(seen + " is not " + wanted);
    }

    static void holds(boolean condition, String message) {
        if (!condition) throw new AssertionError(message);
    }

    interface Call {
        Object run() throws Exception;
    }

    /** Calls, and returns what was thrown. Fails where nothing, or something else, is thrown. */
    static <Thrown extends Throwable> Thrown raises(Class<Thrown> type, Call call) {
        Object seen;
        try {
            seen = call.run();
        } catch (Throwable thrown) {
            for (Throwable one = thrown; one != null; one = one.getCause()) {
                if (type.isInstance(one)) return type.cast(one);
            }
            throw new AssertionError(thrown + " is not of the type " + type.getSimpleName(), thrown);
        }
        throw new AssertionError("nothing was thrown: " + seen);
    }

    private static void runAll(List<Route> routes, String sdk, Map<String, Check> checks) throws Exception {
        for (Route route : routes) {
            for (Map.Entry<String, Check> check : checks.entrySet()) {
                if (check.getKey().equals("embeddings") && route.embeddings() == null) continue;
                String error = null;
                try {
                    check.getValue().run(route);
                } catch (Throwable thrown) {
                    error = describe(thrown);
                }
                Map<String, Object> line = new LinkedHashMap<>();
                line.put("sdk", sdk);
                line.put("route", route.name());
                line.put("check", check.getKey());
                line.put("error", error);
                System.out.println(JSON.writeValueAsString(line));
            }
        }
    }

    private static String describe(Throwable thrown) {
        String text = thrown.toString();
        for (Throwable cause = thrown.getCause(); cause != null; cause = cause.getCause()) text += " because of " + cause;
        for (StackTraceElement element : thrown.getStackTrace()) {
            if (element.getClassName().startsWith("checks.") && !element.getClassName().equals("checks.Checks")) {
                text += " (" + element.getFileName() + ":" + element.getLineNumber() + ")";
                break;
            }
        }
        return text.substring(0, Math.min(600, text.length()));
    }

    public static void main(String[] arguments) throws Exception {
        List<Route> routes = JSON.readValue(System.getenv("ROUTES"), new TypeReference<>() {});
        runAll(routes, "openai-java", OpenAiChecks.chat());
        runAll(routes, "openai-java responses", OpenAiChecks.responses());
        runAll(routes, "anthropic-java", AnthropicChecks.all());
        runAll(routes, "google-genai java", GenAiChecks.all());
        runAll(routes, "langchain4j-open-ai", LangChainChecks.openAi());
        runAll(routes, "langchain4j-anthropic", LangChainChecks.anthropic());
        runAll(routes, "langchain4j-google-ai-gemini", LangChainChecks.google());
        // The HTTP clients of the SDKs keep threads.
        System.exit(0);
    }

    private Checks() {}
}
