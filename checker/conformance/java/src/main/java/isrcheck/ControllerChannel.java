package isrcheck;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Optional;
import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.clients.NodeApiVersions;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.AlterPartitionResponseData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AlterPartitionRequest;
import org.apache.kafka.common.requests.AlterPartitionResponse;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.server.common.ControllerRequestCompletionHandler;
import org.apache.kafka.server.common.NodeToControllerChannelManager;

/** A broker's connection to the controller. Keeps its AlterPartition request until the broker has the answer. */
final class ControllerChannel implements NodeToControllerChannelManager {
    private AlterPartitionRequestData request = null;
    private ControllerRequestCompletionHandler handler = null;
    private AlterPartitionResponseData response = null;

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
        response = null;
    }

    /** Whether there is a request to which the controller has not answered. */
    boolean isAsking() {
        return request != null && response == null;
    }

    AlterPartitionRequestData request() {
        return request;
    }

    /** Keeps the controller's answer, which the broker has not received yet. */
    void keep(AlterPartitionResponseData answer) {
        response = answer;
    }

    /** Loses the answer with the connection. The channel sends the request again, and the broker does not notice. */
    JsonNode loseResponse() {
        response = null;
        return JsonNodeFactory.instance.objectNode();
    }

    JsonNode answer() {
        if (response == null) {
            return JsonNodeFactory.instance.objectNode().put("refused", "no AlterPartition response is under way");
        }
        AlterPartitionResponse body = new AlterPartitionResponse(response);
        ControllerRequestCompletionHandler expecting = handler;
        request = null;
        response = null;
        handler = null;
        RequestHeader asked =
            new RequestHeader(ApiKeys.ALTER_PARTITION, ApiKeys.ALTER_PARTITION.latestVersion(), "broker", 0);
        expecting.onComplete(new ClientResponse(asked, null, "controller", 0, 0, false, null, null, body));
        return JsonNodeFactory.instance.objectNode();
    }

    /** The request, until the broker has the answer, with the answer if there is one. Null if there is no request. */
    JsonNode state() {
        if (request == null) {
            return JsonNodeFactory.instance.nullNode();
        }
        AlterPartitionRequestData.PartitionData asked = request.topics().get(0).partitions().get(0);
        ObjectNode found = JsonNodeFactory.instance.objectNode();
        found.put("epoch", asked.leaderEpoch()).put("version", asked.partitionEpoch());
        ObjectNode isr = found.putObject("isr");
        asked.newIsrWithEpochs().forEach(b -> isr.put(String.valueOf(b.brokerId()), b.brokerEpoch()));
        if (response != null) {
            AlterPartitionResponseData.PartitionData said = response.topics().get(0).partitions().get(0);
            found.putObject("answer").put("error", Errors.forCode(said.errorCode()).name())
                .put("epoch", said.leaderEpoch()).put("version", said.partitionEpoch());
        }
        return found;
    }
}
