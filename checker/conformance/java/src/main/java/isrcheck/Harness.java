package isrcheck;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.apache.kafka.common.utils.AppInfoParser;
import org.apache.kafka.common.utils.Exit;

/**
 * Reads a list of commands from each line of standard input. Answers with one line that has the result of each command
 * and the state after the last one. If an exception is thrown, the line has the exception instead of the state. The
 * first argument is a folder for logs that nobody else uses.
 */
public final class Harness {
    private static final ObjectMapper JSON = new ObjectMapper();

    private Harness() { }

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err); // Keeps the output of libraries apart from the answers.
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Exit.setHaltProcedure((code, message) -> {
            throw new IllegalStateException("a broker halts: " + message);
        });
        Cluster cluster = new Cluster(Path.of(arguments[0]));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                ArrayNode results = answer.putArray("results");
                for (JsonNode command : JSON.readTree(line)) {
                    results.add(cluster.run(command));
                }
                answer.set("state", cluster.state());
            } catch (Throwable fault) {
                StringWriter trace = new StringWriter();
                fault.printStackTrace(new PrintWriter(trace));
                answer.put("fatal", String.valueOf(fault)).put("trace", trace.toString());
            }
            answer.put("kafka", AppInfoParser.getVersion());
            answers.println(JSON.writeValueAsString(answer));
            answers.flush();
        }
        cluster.close();
        System.exit(0); // Ends threads of Kafka that still run, and lets an agent write its data.
    }
}
