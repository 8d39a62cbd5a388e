package org.apache.kafka.controller;

import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.function.Supplier;
import org.apache.kafka.clients.admin.AlterConfigOp.OpType;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.AlterPartitionResponseData;
import org.apache.kafka.common.message.AssignReplicasToDirsRequestData;
import org.apache.kafka.common.message.BrokerHeartbeatRequestData;
import org.apache.kafka.common.message.BrokerRegistrationRequestData;
import org.apache.kafka.common.message.ElectLeadersRequestData;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.metadata.BrokerHeartbeatReply;
import org.apache.kafka.metadata.BrokerRegistration;
import org.apache.kafka.metadata.FinalizedControllerFeatures;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/** Requests of clients, brokers and timers to QuorumController. Each is the call of a manager that it leads to. */
public final class ControllerCalls {
    private final ControllerManagers managers;
    private final TopicIdPartition partition;

    public ControllerCalls(ControllerManagers managers, TopicIdPartition partition) {
        this.managers = managers;
        this.partition = partition;
    }

    /** The records to commit, the answer, and the error or NONE. The answer is null if a manager throws. */
    public record Decision<T>(List<ApiMessage> records, T answer, Errors error) {
        private static <T> Decision<T> of(ControllerResult<T> result, Errors error) {
            return new Decision<>(result.records().stream().map(ApiMessageAndVersion::message).toList(),
                result.response(), error);
        }
    }

    private static <T> Decision<T> decided(Supplier<ControllerResult<T>> call) {
        try {
            return Decision.of(call.get(), Errors.NONE);
        } catch (ApiException fault) {
            return new Decision<>(List.of(), null, Errors.forException(fault));
        }
    }

    // --- partitions --------------------------------------------------------------------------------------------------

    public Decision<AlterPartitionResponseData> alterPartition(AlterPartitionRequestData request) {
        RequestHeaderData header = new RequestHeaderData().setRequestApiKey(ApiKeys.ALTER_PARTITION.id)
            .setRequestApiVersion(ApiKeys.ALTER_PARTITION.latestVersion());
        ControllerRequestContext context =
            new ControllerRequestContext(header, KafkaPrincipal.ANONYMOUS, OptionalLong.empty());
        return decided(() -> managers.replication.alterPartition(context, request.duplicate()));
    }

    public Decision<?> electLeaders(ElectionType type) {
        ElectLeadersRequestData request = new ElectLeadersRequestData().setElectionType(type.value);
        request.topicPartitions().add(new ElectLeadersRequestData.TopicPartitions()
            .setTopic(partition.topic()).setPartitions(List.of(partition.partition())));
        var result = managers.replication.electLeaders(request);
        short error = result.response().replicaElectionResults().get(0).partitionResult().get(0).errorCode();
        return Decision.of(result, Errors.forCode(error));
    }

    /** The periodic task that balances leaders or, if it changes nothing, the one that elects unclean leaders. */
    public Decision<?> balance() {
        Decision<Boolean> balanced = Decision.of(managers.replication.maybeBalancePartitionLeaders(), Errors.NONE);
        return balanced.records().isEmpty()
            ? Decision.of(managers.replication.maybeElectUncleanLeaders(), Errors.NONE) : balanced;
    }

    /** AlterPartitionReassignments. If `replicas` is null, it cancels a reassignment. */
    public Decision<?> reassign(List<Integer> replicas) {
        AlterPartitionReassignmentsRequestData request = new AlterPartitionReassignmentsRequestData();
        var wanted = new AlterPartitionReassignmentsRequestData.ReassignablePartition()
            .setPartitionIndex(partition.partition()).setReplicas(replicas);
        request.topics().add(new AlterPartitionReassignmentsRequestData.ReassignableTopic().setName(partition.topic())
            .setPartitions(List.of(wanted)));
        var result = managers.replication.alterPartitionReassignments(request);
        return Decision.of(result,
            Errors.forCode(result.response().responses().get(0).partitions().get(0).errorCode()));
    }

    public Decision<?> alterMinIsr(int minIsr) {
        ConfigResource topic = new ConfigResource(ConfigResource.Type.TOPIC, partition.topic());
        var result = Configurations.incrementalAlterConfigs(managers.configurations, Map.of(topic, Map.of(
            TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG, Map.entry(OpType.SET, String.valueOf(minIsr)))));
        return Decision.of(result, result.response().get(topic).error());
    }

    // --- decisions that are not committed ----------------------------------------------------------------------------

    /** The leader that an election would elect. Empty if the leader would not change. */
    public OptionalInt wouldLead(ElectionType type) {
        return elected(electLeaders(type));
    }

    public OptionalInt wouldLeadByBalance() {
        return elected(balance());
    }

    public boolean wouldCancel() {
        return reassign(null).error() == Errors.NONE;
    }

    private static OptionalInt elected(Decision<?> decision) {
        return decision.records().stream().filter(x -> x instanceof PartitionChangeRecord)
            .mapToInt(x -> ((PartitionChangeRecord) x).leader()).filter(x -> x >= 0).findFirst();
    }

    // --- brokers -----------------------------------------------------------------------------------------------------

    /** Lets so much time pass that all sessions end, and renews the sessions of all brokers except `broker`. */
    private void endSession(int broker) {
        managers.clock.sleep(ControllerManagers.SESSION_NS / 1_000_000 + 1);
        for (BrokerRegistration other : managers.registrations().values()) {
            if (other.id() != broker) {
                ControllerSignatures.hear(managers, other);
            }
        }
    }

    public Decision<?> expireSession(int broker) {
        endSession(broker);
        return Decision.of(ControllerSignatures.fenceOneStaleBroker(managers.replication), Errors.NONE);
    }

    /** A broker's heartbeat. First notes that all brokers have read all metadata. */
    public Decision<BrokerHeartbeatReply> heartbeat(
        int broker, boolean wantFence, boolean wantShutDown, List<Uuid> offlineDirectories
    ) {
        BrokerRegistration registered = managers.registrations().get(broker);
        BrokerHeartbeatManager heartbeats = managers.brokers.heartbeatManager();
        for (BrokerRegistration other : managers.registrations().values()) {
            heartbeats.touch(other.id(), other.fenced(), managers.offset());
        }
        ControllerSignatures.hear(managers, registered);
        BrokerHeartbeatRequestData request = new BrokerHeartbeatRequestData().setBrokerId(broker)
            .setBrokerEpoch(registered.epoch()).setCurrentMetadataOffset(managers.offset()).setWantFence(wantFence)
            .setWantShutDown(wantShutDown).setOfflineLogDirs(offlineDirectories);
        long registration = managers.brokers.registerBrokerRecordOffset(broker).getAsLong();
        return decided(() -> managers.replication.processBrokerHeartbeat(request, registration));
    }

    /** Does what QuorumController does after it has written the records of a heartbeat. */
    public void afterHeartbeat(int broker, BrokerHeartbeatReply reply) {
        if (reply.inControlledShutdown()) {
            managers.brokers.heartbeatManager().maybeUpdateControlledShutdownOffset(broker, managers.offset());
        }
    }

    /**
     * Registers a new incarnation of a broker. If the last one was shut down cleanly, `previousEpoch` is its broker
     * epoch; otherwise -1.
     */
    public Decision<?> registerBroker(int broker, long epoch, long previousEpoch, List<Uuid> directories) {
        endSession(broker);
        BrokerRegistrationRequestData request = new BrokerRegistrationRequestData().setBrokerId(broker)
            .setClusterId(ControllerManagers.CLUSTER).setIncarnationId(Uuid.randomUuid()).setLogDirs(directories)
            .setPreviousBrokerEpoch(previousEpoch);
        request.listeners().add(new BrokerRegistrationRequestData.Listener().setName("PLAINTEXT")
            .setHost("localhost").setPort(9092 + broker).setSecurityProtocol((short) 0));
        FinalizedControllerFeatures finalized = managers.features.finalizedFeatures(Long.MAX_VALUE);
        finalized.featureMap().forEach((name, level) -> request.features().add(
            new BrokerRegistrationRequestData.Feature().setName(name).setMinSupportedVersion((short) 0)
                .setMaxSupportedVersion(level)));
        return decided(() -> ControllerSignatures.registerBroker(managers, request, epoch, finalized));
    }

    // --- directories -------------------------------------------------------------------------------------------------

    public Decision<?> assignDirectory(int broker, Uuid directory) {
        AssignReplicasToDirsRequestData request = new AssignReplicasToDirsRequestData().setBrokerId(broker)
            .setBrokerEpoch(managers.registrations().get(broker).epoch());
        var index = new AssignReplicasToDirsRequestData.PartitionData().setPartitionIndex(partition.partition());
        var topic = new AssignReplicasToDirsRequestData.TopicData().setTopicId(partition.topicId())
            .setPartitions(List.of(index));
        request.setDirectories(List.of(
            new AssignReplicasToDirsRequestData.DirectoryData().setId(directory).setTopics(List.of(topic))));
        return decided(() -> managers.replication.handleAssignReplicasToDirs(request));
    }
}
