package isrcheck;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Optional;
import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.clients.NodeApiVersions;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.AlterPartitionResponseData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AlterPartitionRequest;
import org.apache.kafka.common.requests.AlterPartitionResponse;
import org.apache.kafka.server.common.ControllerRequestCompletionHandler;
import org.apache.kafka.server.common.NodeToControllerChannelManager;

/** The connection of a broker to the controller: keeps the one AlterPartition request until we are told its answer. */
final class ControllerChannel implements NodeToControllerChannelManager {
    private AlterPartitionRequestData request = null;
    private ControllerRequestCompletionHandler handler = null;

    @Override
    public void start() { }

    @Override
    public void shutdown() { }

    @Override
    public Optional<NodeApiVersions> controllerApiVersions() {
        return Optional.empty();
    }

    @Override
    public long getTimeoutMs() {
        return Long.MAX_VALUE;
    }

    @Override
    public void sendRequest(
        AbstractRequest.Builder<? extends AbstractRequest> builder,
        ControllerRequestCompletionHandler callback
    ) {
        request = ((AlterPartitionRequest) builder.build()).data();
        handler = callback;
    }

    JsonNode answer(Cluster cluster, JsonNode command) {
        if (handler == null) {
            return JsonNodeFactory.instance.objectNode().put("refused", "no AlterPartition request is under way");
        }
        AlterPartitionResponseData.PartitionData said = new AlterPartitionResponseData.PartitionData()
            .setPartitionIndex(0)
            .setErrorCode(Errors.valueOf(command.get("error").asText()).code());
        if (said.errorCode() == 0) {
            said.setLeaderId(command.get("leader").asInt()).setLeaderEpoch(command.get("epoch").asInt())
                .setIsr(Images.numbers(command.get("isr"))).setPartitionEpoch(command.get("version").asInt());
        }
        AlterPartitionResponseData.TopicData topic = new AlterPartitionResponseData.TopicData()
            .setTopicId(cluster.partition.topicId()).setPartitions(List.of(said));
        AlterPartitionResponse body = new AlterPartitionResponse(
            new AlterPartitionResponseData().setTopics(List.of(topic)));
        ControllerRequestCompletionHandler expecting = handler;
        request = null;
        handler = null;
        expecting.onComplete(new ClientResponse(null, null, "controller", 0, 0, false, null, null, body));
        return JsonNodeFactory.instance.objectNode();
    }

    /** The request under way, if any. */
    JsonNode state() {
        if (request == null) {
            return JsonNodeFactory.instance.nullNode();
        }
        AlterPartitionRequestData.PartitionData asked = request.topics().get(0).partitions().get(0);
        ObjectNode found = JsonNodeFactory.instance.objectNode();
        found.put("epoch", asked.leaderEpoch()).put("version", asked.partitionEpoch());
        ObjectNode isr = found.putObject("isr");
        asked.newIsrWithEpochs().forEach(b -> isr.put(String.valueOf(b.brokerId()), b.brokerEpoch()));
        return found;
    }
}
