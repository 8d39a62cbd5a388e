package cluster;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import kafka.tools.StorageTool;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.metadata.MetadataJsonConverters;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/** A client of a cluster and a reader of its files. Each request and each answer is a line of JSON. */
public final class Operator {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final String servers;
    private final Admin admin;
    private final Map<String, Writer> writers = new HashMap<>();

    private Operator(String servers) {
        this.servers = servers;
        this.admin = Admin.create(Map.of(
            "bootstrap.servers", servers, "request.timeout.ms", "2000", "default.api.timeout.ms", "30000"));
    }

    public static void main(String[] arguments) throws Exception {
        Operator operator = new Operator(arguments[0]);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                operator.handle(JSON.readTree(line), answer);
            } catch (ExecutionException error) {
                answer.put("error", String.valueOf(error.getCause()));
            } catch (Exception error) {
                answer.put("error", String.valueOf(error));
            }
            System.out.println(JSON.writeValueAsString(answer));
        }
        System.exit(0);
    }

    private void handle(JsonNode request, ObjectNode answer) throws Exception {
        String topic = request.path("topic").asText();
        TopicPartition partition = new TopicPartition(topic, 0);
        switch (request.get("op").asText()) {
            case "create" -> create(topic, numbers(request.get("replicas")), request.get("min_isr").asText());
            case "produce" -> produce(topic, request.get("value").asText(), request.get("seconds").asInt(), answer);
            case "open" -> writers.put(topic, new Writer(servers, partition));
            case "add-producer" -> writers.get(topic).addProducer();
            case "send" -> writers.get(topic).send(request.get("value").asText());
            case "load" -> writers.get(topic).load(
                request.get("prefix").asText(), request.get("milliseconds").asLong());
            case "stop" -> writers.get(topic).stop();
            case "awaited" -> answer.put("told", writers.get(topic).awaited(
                request.get("value").asText(), request.get("milliseconds").asLong()));
            case "told" -> answer.set("told", JSON.valueToTree(writers.get(topic).told()));
            case "read" -> answer.set("values", JSON.valueToTree(writers.get(topic).read()));
            case "close" -> writers.remove(topic).close();
            case "elect" -> admin.electLeaders(ElectionType.PREFERRED, Set.of(partition)).all().get(30, TimeUnit.SECONDS);
            case "reassign" -> admin.alterPartitionReassignments(Map.of(
                partition, Optional.of(new NewPartitionReassignment(numbers(request.get("replicas"))))))
                .all().get(30, TimeUnit.SECONDS);
            case "describe" -> describe(topic, answer);
            case "format" -> {
                int code = StorageTool.execute(
                    new String[] {"format", "-t", request.get("id").asText(), "-c", request.get("file").asText()},
                    System.err);
                if (code != 0) {
                    throw new IllegalStateException("the storage tool has failed: " + code);
                }
            }
            case "metadata" -> metadata(new File(request.get("file").asText()), answer);
            case "log" -> log(new File(request.get("file").asText()), answer);
            default -> throw new IllegalArgumentException("there is no such request");
        }
    }

    private static List<Integer> numbers(JsonNode list) {
        List<Integer> found = new ArrayList<>();
        list.forEach(each -> found.add(each.asInt()));
        return found;
    }

    private void create(String topic, List<Integer> replicas, String minIsr) throws Exception {
        NewTopic wanted = new NewTopic(topic, Map.of(0, replicas));
        wanted.configs(Map.of("min.insync.replicas", minIsr));
        admin.createTopics(List.of(wanted)).all().get(30, TimeUnit.SECONDS);
    }

    /** Sends a record once with acks=all. The answer is its offset, or an error; it may then be written or not. */
    private void produce(String topic, String value, int seconds, ObjectNode answer) throws Exception {
        Map<String, Object> configuration = Map.of(
            "bootstrap.servers", servers, "acks", "all", "enable.idempotence", "false", "retries", "0",
            "linger.ms", "0", "request.timeout.ms", String.valueOf(1000 * seconds),
            "delivery.timeout.ms", String.valueOf(1000 * seconds + 1), "max.block.ms", String.valueOf(1000 * seconds));
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(configuration, new StringSerializer(), new StringSerializer())) {
            answer.put("offset", producer.send(new ProducerRecord<>(topic, 0, null, value))
                .get(3L * seconds, TimeUnit.SECONDS).offset());
        }
    }

    private void describe(String topic, ObjectNode answer) throws Exception {
        var found = admin.describeTopics(List.of(topic)).allTopicNames().get(30, TimeUnit.SECONDS)
            .get(topic).partitions().get(0);
        answer.put("leader", found.leader() == null ? -1 : found.leader().id());
        ArrayNode isr = answer.putArray("isr");
        found.isr().forEach(node -> isr.add(node.id()));
    }

    /** The records of a metadata log, each with its offset and the base offset of its batch. */
    private static void metadata(File file, ObjectNode answer) throws Exception {
        ArrayNode records = answer.putArray("records");
        try (FileRecords log = FileRecords.open(file, false)) {
            for (RecordBatch batch : log.batches()) {
                if (batch.isControlBatch()) {
                    continue;
                }
                for (Record each : batch) {
                    ApiMessageAndVersion message = MetadataRecordSerde.INSTANCE.read(
                        new ByteBufferAccessor(each.value()), each.valueSize());
                    ObjectNode told = records.addObject();
                    told.put("offset", each.offset()).put("batch", batch.baseOffset());
                    told.put("time", each.timestamp());
                    told.put("type", message.message().getClass().getSimpleName());
                    told.set("data", MetadataJsonConverters.writeJson(message.message(), message.version()));
                }
            }
        }
    }

    /** The records of a partition's log: offset, leader epoch, value. */
    private static void log(File file, ObjectNode answer) throws Exception {
        ArrayNode records = answer.putArray("records");
        try (FileRecords log = FileRecords.open(file, false)) {
            for (RecordBatch batch : log.batches()) {
                for (Record each : batch) {
                    String value = StandardCharsets.UTF_8.decode(each.value()).toString();
                    records.addObject().put("offset", each.offset())
                        .put("epoch", batch.partitionLeaderEpoch()).put("value", value);
                }
            }
        }
    }
}
