package org.apache.kafka.controller;

import java.util.List;
import java.util.function.Supplier;
import org.apache.kafka.common.message.BrokerRegistrationRequestData;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.metadata.BrokerRegistration;
import org.apache.kafka.metadata.BrokerRegistrationReply;
import org.apache.kafka.metadata.FinalizedControllerFeatures;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/** Calls of the controller's managers in Kafka 3.9 that differ from those since 4.0. */
final class ControllerSignatures {
    private ControllerSignatures() { }

    /** The features of a quorum's only controller, including those that are not for production yet. */
    static QuorumFeatures quorumFeatures() {
        return new QuorumFeatures(0, QuorumFeatures.defaultFeatureMap(true), List.of(0));
    }

    static ConfigurationControlManager.Builder with(
        FeatureControlManager features, ConfigurationControlManager.Builder builder
    ) {
        return builder; // A change of min.insync.replicas has no other effect in 3.9.
    }

    static ClusterControlManager.Builder with(
        Supplier<ReplicationControlManager> replication, ClusterControlManager.Builder builder
    ) {
        return builder.setBrokerUncleanShutdownHandler((int broker, List<ApiMessageAndVersion> records) ->
            replication.get().handleBrokerUncleanShutdown(broker, records));
    }

    /** Allows eligible leader replicas. The metadata version says whether they are used. */
    static ReplicationControlManager.Builder withElr(ReplicationControlManager.Builder builder) {
        return builder.setEligibleLeaderReplicasEnabled(true);
    }

    /** Replays a record of a type that only later versions have. Returns false, because 3.9 has no such records. */
    static boolean replay(ReplicationControlManager replication, ApiMessage record) {
        return false;
    }

    /** Notes a heartbeat of a broker that has read all metadata. */
    static void hear(ControllerManagers managers, BrokerRegistration broker) {
        managers.brokers.heartbeatManager().touch(broker.id(), broker.fenced(), managers.offset());
    }

    /** Fences one broker whose session has ended. */
    static ControllerResult<?> fenceOneStaleBroker(ReplicationControlManager replication) {
        return replication.maybeFenceOneStaleBroker();
    }

    static ControllerResult<BrokerRegistrationReply> registerBroker(
        ControllerManagers managers, BrokerRegistrationRequestData request, long epoch,
        FinalizedControllerFeatures finalized
    ) {
        return managers.brokers.registerBroker(request, epoch, finalized);
    }
}
