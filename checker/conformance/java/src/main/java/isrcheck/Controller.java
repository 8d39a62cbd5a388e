package isrcheck;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.AlterPartitionResponseData;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.controller.ControllerCalls;
import org.apache.kafka.controller.ControllerCalls.Decision;
import org.apache.kafka.controller.ControllerManagers;
import org.apache.kafka.metadata.BrokerHeartbeatReply;
import org.apache.kafka.metadata.BrokerRegistration;
import org.apache.kafka.metadata.PartitionRegistration;

/**
 * The controller. It replays and commits the records of each decision immediately, as one batch. Only records about the
 * end of a shutdown wait for the next batch. Brokers receive answers to AlterPartition later.
 */
final class Controller {
    static final Set<String> COMMANDS = Set.of("alter_partition", "lose_response", "elect_leaders", "balance",
        "reassign", "alter_min_isr", "expire_session", "heartbeat", "finish_shutdown", "register", "assign_directory");

    private final Cluster cluster;
    private final ControllerManagers managers;
    private final ControllerCalls calls;
    private final List<ApiMessage> held = new ArrayList<>();

    Controller(Cluster cluster, List<ApiMessage> first) {
        this.cluster = cluster;
        managers = new ControllerManagers(first);
        calls = new ControllerCalls(managers, cluster.partition);
        cluster.append(first);
    }

    JsonNode run(JsonNode command) {
        int broker = command.hasNonNull("broker") ? command.get("broker").asInt() : -1;
        return switch (command.get("op").asText()) {
            case "alter_partition" -> alterPartition(broker);
            case "lose_response" -> cluster.brokers.get(broker).channel.loseResponse();
            case "elect_leaders" -> commit(calls.electLeaders(ElectionType.valueOf(command.get("type").asText())));
            case "balance" -> commit(calls.balance());
            case "reassign" -> commit(calls.reassign(
                command.hasNonNull("replicas") ? replicas(Images.numbers(command.get("replicas"))) : null));
            case "alter_min_isr" -> commit(calls.alterMinIsr(command.get("min_isr").asInt()));
            case "expire_session" -> commit(calls.expireSession(broker));
            case "heartbeat" -> heartbeat(broker, command);
            case "finish_shutdown" -> finishShutdown(broker);
            case "register" -> register(cluster.brokers.get(broker));
            case "assign_directory" -> assignDirectory(cluster.brokers.get(broker));
            default -> throw new IllegalArgumentException("no such command: " + command);
        };
    }

    private JsonNode commit(Decision<?> decision) {
        ObjectNode found = JsonNodeFactory.instance.objectNode();
        if (decision.error() != Errors.NONE) {
            return found.put("refused", decision.error().name());
        }
        if (!decision.records().isEmpty()) {
            managers.replay(decision.records());
            List<ApiMessage> batch = new ArrayList<>(held);
            batch.addAll(decision.records());
            held.clear();
            cluster.append(batch);
            checkImage();
        }
        return found;
    }

    /** Checks that the partition is equal in the controller and in the image that brokers build from the records. */
    private void checkImage() {
        PartitionRegistration mine = managers.partition(cluster.partition);
        PartitionRegistration theirs = cluster.registration(cluster.committed);
        if (!mine.equals(theirs)) {
            throw new IllegalStateException("the controller has " + mine + ", the image " + theirs);
        }
    }

    private JsonNode alterPartition(int broker) {
        ControllerChannel channel = cluster.brokers.get(broker).channel;
        if (!channel.isAsking()) {
            return JsonNodeFactory.instance.objectNode().put("refused", "no AlterPartition request is under way");
        }
        Decision<AlterPartitionResponseData> decision = calls.alterPartition(channel.request());
        channel.keep(decision.answer());
        return commit(decision);
    }

    /**
     * The replicas to ask for. If the partition already has the wanted replicas in this order, they are reversed,
     * because otherwise nothing would change.
     */
    private List<Integer> replicas(List<Integer> wanted) {
        int[] now = managers.partition(cluster.partition).replicas;
        if (IntStream.of(now).boxed().toList().equals(wanted)) {
            Collections.reverse(wanted);
        }
        return wanted;
    }

    /** A broker's heartbeat, with the broker's wishes and, if `directories` is true, with its failed directories. */
    private JsonNode heartbeat(int broker, JsonNode command) {
        List<Uuid> failed = command.path("directories").asBoolean()
            ? cluster.brokers.get(broker).directories.failedIds() : List.of();
        Decision<BrokerHeartbeatReply> decision = calls.heartbeat(
            broker, command.path("want_fence").asBoolean(), command.path("want_shut_down").asBoolean(), failed);
        JsonNode found = commit(decision);
        if (decision.answer() != null) {
            calls.afterHeartbeat(broker, decision.answer());
        }
        return found;
    }

    /**
     * The last heartbeat of a broker that shuts down. It fences the broker. This broker was not active before, and only
     * the set of active brokers is compared, so the record may wait for the next batch.
     */
    private JsonNode finishShutdown(int broker) {
        ObjectNode found = JsonNodeFactory.instance.objectNode();
        if (managers.registrations().get(broker).fenced()) {
            return found; // It may stop already.
        }
        Decision<BrokerHeartbeatReply> decision = calls.heartbeat(broker, false, true, List.of());
        if (decision.answer() == null || !decision.answer().shouldShutDown()) {
            return found.put("refused", "the broker may not stop yet");
        }
        managers.replay(decision.records());
        held.addAll(decision.records());
        checkImage();
        return found;
    }

    private JsonNode register(Broker broker) {
        return commit(calls.registerBroker(
            broker.id, broker.brokerEpoch, broker.previousBrokerEpoch(), broker.directories.onlineIds()));
    }

    /**
     * Assigns the log's directory if the directory that was assigned before has failed. Otherwise assigns another
     * directory, as if the log had been moved.
     */
    private JsonNode assignDirectory(Broker broker) {
        Uuid now = managers.partition(cluster.partition).directory(broker.id);
        List<Uuid> others = new ArrayList<>(broker.directories.onlineIds());
        if (others.remove(now)) {
            return commit(calls.assignDirectory(broker.id, others.get(0)));
        }
        return commit(calls.assignDirectory(broker.id, broker.directoryId().orElseThrow()));
    }

    ObjectNode state() {
        ObjectNode found = JsonNodeFactory.instance.objectNode();
        found.set("partition", Images.written(managers.partition(cluster.partition)));
        ObjectNode brokers = found.putObject("brokers");
        for (BrokerRegistration broker : managers.registrations().values()) {
            brokers.set(String.valueOf(broker.id()), Images.written(broker));
        }
        ObjectNode would = found.putObject("would");
        calls.wouldLead(ElectionType.PREFERRED).ifPresent(x -> would.put("elect_preferred", x));
        calls.wouldLead(ElectionType.UNCLEAN).ifPresent(x -> would.put("elect_unclean", x));
        calls.wouldLeadByBalance().ifPresent(x -> would.put("balance", x));
        return found.put("would_cancel", calls.wouldCancel());
    }
}
