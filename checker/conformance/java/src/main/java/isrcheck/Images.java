package isrcheck;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.kafka.common.DirectoryId;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.metadata.BrokerRegistration;
import org.apache.kafka.metadata.PartitionRegistration;

/** The first metadata records of a path, and the contents of images and registrations as JSON data. */
final class Images {
    static final int DIRECTORIES = 3;

    private Images() { }

    /**
     * The first records: the features, the topic with its configuration, the brokers and the partition, as `image`
     * describes them. If the number of the partition is not 0, another partition has the number 0.
     */
    static List<ApiMessage> first(Cluster cluster, JsonNode image, boolean eligibleLeaderReplicas) {
        List<ApiMessage> records = new ArrayList<>(Signatures.features(eligibleLeaderReplicas));
        Uuid topic = cluster.partition.topicId();
        records.add(new TopicRecord().setName(Cluster.TOPIC).setTopicId(topic));
        image.get("configuration").fields().forEachRemaining(x -> records.add(new ConfigRecord()
            .setResourceType(ConfigResource.Type.TOPIC.id()).setResourceName(Cluster.TOPIC)
            .setName(x.getKey()).setValue(x.getValue().asText())));
        for (int id = 0; id < image.get("brokers").asInt(); id++) {
            records.add(registered(id));
        }
        if (cluster.partition.partition() != 0) {
            records.add(other(topic, image.get("partition").get("replicas").size()));
        }
        records.add(created(cluster.partition, image.get("partition")));
        return records;
    }

    /** The ids of a broker's directories. There are three, so that two may fail. Without any, the broker would stop. */
    static List<Uuid> directories(int broker) {
        return IntStream.rangeClosed(1, DIRECTORIES).mapToObj(x -> new Uuid(broker + 1, x)).toList();
    }

    private static RegisterBrokerRecord registered(int id) {
        RegisterBrokerRecord record = new RegisterBrokerRecord().setBrokerId(id).setBrokerEpoch(0).setFenced(false)
            .setIncarnationId(Uuid.randomUuid()).setLogDirs(directories(id)).setRack(null);
        record.endPoints().add(new RegisterBrokerRecord.BrokerEndpoint().setName("PLAINTEXT").setHost("localhost")
            .setPort(9092 + id).setSecurityProtocol((short) 0));
        return record;
    }

    /** Partition 0, if the number of the compared partition is not 0. Its replicas are on brokers that do not exist. */
    private static PartitionRecord other(Uuid topic, int replicas) {
        List<Integer> others = IntStream.range(100, 100 + replicas).boxed().toList();
        return new PartitionRecord().setPartitionId(0).setTopicId(topic).setReplicas(others).setIsr(others)
            .setAddingReplicas(List.of()).setRemovingReplicas(List.of()).setLeader(100).setLeaderEpoch(0)
            .setPartitionEpoch(0).setDirectories(Arrays.asList(DirectoryId.unassignedArray(replicas)));
    }

    private static PartitionRecord created(TopicIdPartition partition, JsonNode said) {
        List<Integer> replicas = numbers(said.get("replicas"));
        return new PartitionRecord().setPartitionId(partition.partition()).setTopicId(partition.topicId())
            .setReplicas(replicas)
            .setIsr(numbers(said.get("isr"))).setAddingReplicas(List.of()).setRemovingReplicas(List.of())
            .setLeader(said.get("leader").asInt()).setLeaderEpoch(0).setPartitionEpoch(0)
            .setDirectories(replicas.stream().map(x -> directories(x).get(0)).toList());
    }

    static List<Integer> numbers(JsonNode list) {
        List<Integer> found = new ArrayList<>();
        list.forEach(number -> found.add(number.asInt()));
        return found;
    }

    static ArrayNode array(int... numbers) {
        ArrayNode found = JsonNodeFactory.instance.arrayNode();
        IntStream.of(numbers).forEach(found::add);
        return found;
    }

    /** The partition and the brokers in an image. */
    static ObjectNode written(Cluster cluster, MetadataImage image) {
        ObjectNode found = JsonNodeFactory.instance.objectNode();
        PartitionRegistration said = cluster.registration(image);
        if (said == null) {
            return found;
        }
        found.set("partition", written(said));
        ObjectNode brokers = found.putObject("brokers");
        image.cluster().brokers().forEach((id, broker) -> brokers.set(String.valueOf(id), written(broker)));
        return found;
    }

    static ObjectNode written(PartitionRegistration said) {
        ObjectNode found = JsonNodeFactory.instance.objectNode();
        ObjectNode directories = found.putObject("directories");
        for (int replica : said.replicas) {
            directories.put(String.valueOf(replica), said.directory(replica).toString());
        }
        return found.put("leader", said.leader).put("epoch", said.leaderEpoch)
            .put("version", said.partitionEpoch).<ObjectNode>set("isr", array(said.isr))
            .<ObjectNode>set("replicas", array(said.replicas)).<ObjectNode>set("adding", array(said.addingReplicas))
            .<ObjectNode>set("removing", array(said.removingReplicas)).<ObjectNode>set("elr", array(said.elr))
            .<ObjectNode>set("last_known_elr", array(said.lastKnownElr));
    }

    static ObjectNode written(BrokerRegistration said) {
        return JsonNodeFactory.instance.objectNode().put("broker_epoch", said.epoch()).put("fenced", said.fenced())
            .put("stopping", said.inControlledShutdown());
    }
}
