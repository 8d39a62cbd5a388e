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
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.metadata.BrokerRegistrationChangeRecord;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.metadata.BrokerRegistration;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.EligibleLeaderReplicasVersion;
import org.apache.kafka.server.common.MetadataVersion;

/**
 * The controller is stood in for: we are told what it has committed, and write the records that say so. A
 * PartitionChangeRecord has only what changes; that the epochs of the image come out as we were told is compared.
 */
final class Images {
    private Images() { }

    static List<ApiMessage> features(boolean eligibleLeaderReplicas) {
        return List.of(
            new FeatureLevelRecord().setName(MetadataVersion.FEATURE_NAME)
                .setFeatureLevel(MetadataVersion.latestProduction().featureLevel()),
            new FeatureLevelRecord().setName(EligibleLeaderReplicasVersion.FEATURE_NAME)
                .setFeatureLevel((short) (eligibleLeaderReplicas ? 1 : 0)));
    }

    /** What leads from the image that is committed to the one that we are told of. */
    static List<ApiMessage> records(Cluster cluster, JsonNode image) {
        List<ApiMessage> records = new ArrayList<>(registrations(cluster.committed, image));
        String minIsr = image.get("min_isr").asText();
        ConfigResource topic = new ConfigResource(ConfigResource.Type.TOPIC, Cluster.PARTITION.topic());
        Object known = cluster.committed.configs().configProperties(topic).get(TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG);
        if (!minIsr.equals(known)) {
            records.add(new ConfigRecord().setResourceType(topic.type().id()).setResourceName(topic.name())
                .setName(TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG).setValue(minIsr));
        }
        PartitionRegistration before = cluster.committed.topics().getPartition(cluster.partition.topicId(), 0);
        JsonNode after = image.get("partition");
        if (before == null) {
            records.add(created(cluster.partition.topicId(), after));
        } else if (after.get("version").asInt() != before.partitionEpoch) {
            records.add(changed(cluster.partition.topicId(), before, after));
        }
        return records;
    }

    private static List<ApiMessage> registrations(MetadataImage committed, JsonNode image) {
        List<ApiMessage> records = new ArrayList<>();
        for (JsonNode said : image.get("brokers")) {
            int id = said.get("id").asInt();
            long epoch = said.get("broker_epoch").asLong();
            boolean fenced = said.get("fenced").asBoolean();
            BrokerRegistration known = committed.cluster().broker(id);
            boolean anew = known == null || known.epoch() != epoch;
            boolean stopping = said.get("stopping").asBoolean() || (!anew && known.inControlledShutdown());
            if (anew) {
                records.add(registered(id, epoch).setFenced(fenced).setInControlledShutdown(stopping));
            } else if (known.fenced() != fenced || known.inControlledShutdown() != stopping) {
                records.add(new BrokerRegistrationChangeRecord().setBrokerId(id).setBrokerEpoch(epoch)
                    .setFenced((byte) (known.fenced() == fenced ? 0 : fenced ? 1 : -1))
                    .setInControlledShutdown((byte) (known.inControlledShutdown() == stopping ? 0 : 1)));
            }
        }
        return records;
    }

    private static RegisterBrokerRecord registered(int id, long epoch) {
        RegisterBrokerRecord record = new RegisterBrokerRecord().setBrokerId(id).setBrokerEpoch(epoch)
            .setIncarnationId(Uuid.randomUuid()).setLogDirs(List.of()).setRack(null);
        record.endPoints().add(new RegisterBrokerRecord.BrokerEndpoint().setName("PLAINTEXT").setHost("localhost")
            .setPort(9092 + id).setSecurityProtocol((short) 0));
        return record;
    }

    private static PartitionRecord created(Uuid topic, JsonNode said) {
        List<Integer> replicas = numbers(said.get("replicas"));
        return new PartitionRecord().setPartitionId(0).setTopicId(topic).setReplicas(replicas)
            .setIsr(numbers(said.get("isr"))).setAddingReplicas(List.of()).setRemovingReplicas(List.of())
            .setLeader(said.get("leader").asInt()).setLeaderEpoch(0).setPartitionEpoch(0)
            .setDirectories(Arrays.asList(DirectoryId.unassignedArray(replicas.size())));
    }

    private static PartitionChangeRecord changed(Uuid topic, PartitionRegistration before, JsonNode said) {
        PartitionChangeRecord record = new PartitionChangeRecord().setPartitionId(0).setTopicId(topic)
            .setIsr(numbers(said.get("isr")));
        if (said.get("epoch").asInt() != before.leaderEpoch) {
            record.setLeader(said.get("leader").asInt());
        }
        List<Integer> replicas = numbers(said.get("replicas"));
        if (!replicas.equals(IntStream.of(before.replicas).boxed().toList())) {
            record.setReplicas(replicas).setDirectories(Arrays.asList(DirectoryId.unassignedArray(replicas.size())));
        }
        return record.setAddingReplicas(numbers(said.get("adding"))).setRemovingReplicas(numbers(said.get("removing")))
            .setEligibleLeaderReplicas(numbers(said.get("elr")));
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

    /** What an image says of the partition and of the brokers. */
    static ObjectNode written(Cluster cluster, MetadataImage image) {
        ObjectNode found = JsonNodeFactory.instance.objectNode();
        PartitionRegistration said = cluster.registration(image);
        if (said == null) {
            return found;
        }
        found.putObject("partition").put("leader", said.leader).put("epoch", said.leaderEpoch)
            .put("version", said.partitionEpoch).<ObjectNode>set("isr", array(said.isr))
            .<ObjectNode>set("replicas", array(said.replicas)).<ObjectNode>set("adding", array(said.addingReplicas))
            .<ObjectNode>set("removing", array(said.removingReplicas)).<ObjectNode>set("elr", array(said.elr));
        ObjectNode brokers = found.putObject("brokers");
        image.cluster().brokers().forEach((id, broker) -> brokers.putObject(String.valueOf(id))
            .put("active", !broker.fenced() && !broker.inControlledShutdown()).put("broker_epoch", broker.epoch()));
        return found;
    }
}
