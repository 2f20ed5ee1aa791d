import java.util.Map;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;

/** Runs a node with the settings, plugins and data of its home, until standard input ends. */
public final class SearchNode {
  private SearchNode() {}

  public static void main(String[] arguments) throws Exception {
    Settings home = Settings.builder().put("path.home", arguments[0]).build();
    Environment environment = InternalSettingsPreparer.prepareEnvironment(home, Map.of(), null, () -> "node");
    try (Node node = new Node(environment)) {
      node.start();
      System.out.println("started");
      while (System.in.read() != -1) {
        // Nothing is asked of it.
      }
    }
  }
}
