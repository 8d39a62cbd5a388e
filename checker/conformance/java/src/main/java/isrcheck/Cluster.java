package isrcheck;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.yammer.metrics.core.MetricName;
import com.yammer.metrics.core.MetricsRegistry;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.metrics.KafkaYammerMetrics;

/**
 * The brokers, their only partition, and the metadata log that they read: batches of records, in the order in which
 * they were committed. The clock stands still. Everything runs in one thread, except each `UnnotedFetch`.
 */
final class Cluster {
    static final String TOPIC = "topic";

    final Clock time = new Clock(Broker.NOW_MS, 0);
    final List<List<ApiMessage>> batches = new ArrayList<>();
    TopicIdPartition partition = null;
    MetadataImage committed = MetadataImage.EMPTY;
    final TreeMap<Integer, Broker> brokers = new TreeMap<>();
    final TreeMap<Integer, Told> producers = new TreeMap<>();
    private final Path folder;
    private Controller controller = null;
    private int resets = 0;
    /** Whether a fetcher that must truncate does so only when its answer is taken a second time. */
    boolean truncatesLater = false;

    /**
     * A broker's answer to the producer of a record. If there is no answer, `error` is null. `waits` says whether an
     * answer may still come: it does not come if the broker has stopped.
     */
    record Told(int broker, Errors error, boolean waits) { }

    Cluster(Path folder) {
        this.folder = folder;
    }

    JsonNode run(JsonNode command) throws Exception {
        if (Controller.COMMANDS.contains(command.get("op").asText())) {
            return controller.run(command);
        }
        return switch (command.get("op").asText()) {
            case "reset" -> reset(command);
            case "publish" -> broker(command).publish(this, command.get("batch").asInt());
            case "produce" -> broker(command).produce(this, command.get("id").asInt());
            case "send_fetch" -> broker(command).fetcher(command.get("leader").asInt()).send();
            case "take_answer" -> broker(command).fetcher(command.get("leader").asInt()).receive();
            case "late_answer" -> broker(command).fetcher(command.get("leader").asInt()).late();
            case "drop_answer" -> broker(command).fetcher(command.get("leader").asInt()).drop();
            case "read_fetch" -> broker(command).readFetch(this, command.get("follower").asInt());
            case "note_fetch" -> broker(command).noteFetch(command.get("follower").asInt());
            case "shrink_isr" -> broker(command).shrinkIsr();
            case "lag" -> broker(command).lag(command.get("follower").asInt());
            case "answer_alteration" -> broker(command).channel.answer();
            case "prepare_shutdown" -> broker(command).beginShutdown();
            case "move_log" -> broker(command).moveLog();
            case "fail_directory" -> failDirectory(command);
            case "stop" -> stop(command);
            case "start" -> start(command);
            default -> throw new IllegalArgumentException("no such command: " + command);
        };
    }

    private Broker broker(JsonNode command) {
        return brokers.get(command.get("broker").asInt());
    }

    /** Removes everything. Then starts brokers 0, 1, ..., which publish the batch that creates the topic. */
    private JsonNode reset(JsonNode command) throws Exception {
        close();
        batches.clear();
        producers.clear();
        committed = MetadataImage.EMPTY;
        partition = new TopicIdPartition(Uuid.randomUuid(), command.get("index").asInt(), TOPIC);
        resets += 1;
        truncatesLater = command.get("truncates_later").asBoolean();
        for (int id = 0; id < command.get("image").get("brokers").asInt(); id++) {
            brokers.put(id, new Broker(id, 0, this, folder.resolve(resets + "-" + id), null));
        }
        boolean eligibleLeaderReplicas = command.get("eligible_leader_replicas").asBoolean();
        controller = new Controller(this, Images.first(this, command.get("image"), eligibleLeaderReplicas));
        for (Broker broker : brokers.values()) {
            broker.publish(this, 0);
        }
        return JsonNodeFactory.instance.objectNode();
    }

    private JsonNode stop(JsonNode command) throws Exception {
        Broker broker = broker(command);
        producers.replaceAll((id, x) -> x.waits() && x.broker() == broker.id ? new Told(broker.id, null, false) : x);
        return broker.stop(command);
    }

    private JsonNode failDirectory(JsonNode command) throws Exception {
        return broker(command).failDirectory();
    }

    private JsonNode start(JsonNode command) throws Exception {
        int id = command.get("broker").asInt();
        Broker before = brokers.get(id);
        before.directories.replaceFailed(id, command.get("failed_directory").asText().equals("replaced"));
        long epoch = command.get("broker_epoch").asLong();
        brokers.put(id, new Broker(id, epoch, this, before.folder, before.stopped()));
        return JsonNodeFactory.instance.objectNode();
    }

    void append(List<ApiMessage> records) {
        batches.add(records);
        committed = image(committed, batches.size() - 1, batches.size() - 1).image();
    }

    /** A metadata image, and the delta that leads to it from the image before. */
    record Step(MetadataDelta delta, MetadataImage image) { }

    /** The image after the batches from `first` to `last`, with one delta for all of them. */
    Step image(MetadataImage before, int first, int last) {
        MetadataDelta delta = new MetadataDelta.Builder().setImage(before).build();
        for (List<ApiMessage> batch : batches.subList(first, last + 1)) {
            batch.forEach(delta::replay);
        }
        return new Step(delta, delta.apply(Signatures.provenance(last)));
    }

    TopicPartition partition() {
        return partition.topicPartition();
    }

    PartitionRegistration registration(MetadataImage image) {
        return image.topics().getPartition(partition.topicId(), partition.partition());
    }

    ObjectNode state() throws Exception {
        ObjectNode state = JsonNodeFactory.instance.objectNode();
        state.put("last_batch", batches.size() - 1);
        state.set("controller", controller.state());
        ObjectNode told = state.putObject("producers");
        producers.forEach((id, x) -> told.putObject(String.valueOf(id)).put("broker", x.broker())
            .put("waits", x.waits()).put("error", x.error() == null ? null : x.error().name()));
        ObjectNode all = state.putObject("brokers");
        for (Broker broker : brokers.values()) {
            all.set(String.valueOf(broker.id), broker.state(this));
        }
        return state;
    }

    /** Stops all brokers, and removes their files and the metrics. */
    void close() throws Exception {
        for (Broker broker : brokers.values()) {
            broker.close();
            Directories.delete(broker.folder);
        }
        brokers.clear();
        MetricsRegistry metrics = KafkaYammerMetrics.defaultRegistry();
        for (MetricName name : List.copyOf(metrics.allMetrics().keySet())) {
            metrics.removeMetric(name);
        }
    }
}
