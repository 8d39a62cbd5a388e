package org.apache.kafka.controller;

import java.util.List;
import java.util.function.Supplier;
import org.apache.kafka.common.message.BrokerRegistrationRequestData;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.metadata.BrokerRegistration;
import org.apache.kafka.metadata.BrokerRegistrationReply;
import org.apache.kafka.metadata.FinalizedControllerFeatures;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/** What a controller of Kafka 3.9 is made of, and asked, otherwise than in 4.0. */
final class ControllerSignatures {
    private ControllerSignatures() { }

    /** What the only controller of a quorum can do, also what is not for production yet. */
    static QuorumFeatures quorumFeatures() {
        return new QuorumFeatures(0, QuorumFeatures.defaultFeatureMap(true), List.of(0));
    }

    static ConfigurationControlManager.Builder with(
        FeatureControlManager features, ConfigurationControlManager.Builder builder
    ) {
        return builder; // A change of min.insync.replicas does nothing else yet.
    }

    static ClusterControlManager.Builder with(
        Supplier<ReplicationControlManager> replication, ClusterControlManager.Builder builder
    ) {
        return builder.setBrokerUncleanShutdownHandler((int broker, List<ApiMessageAndVersion> records) ->
            replication.get().handleBrokerUncleanShutdown(broker, records));
    }

    /** Eligible leader replicas are there where the version of metadata has them. */
    static ReplicationControlManager.Builder withElr(ReplicationControlManager.Builder builder) {
        return builder.setEligibleLeaderReplicasEnabled(true);
    }

    /** Whether it is a record that only later versions have: none is. */
    static boolean replay(ReplicationControlManager replication, ApiMessage record) {
        return false;
    }

    /** A broker has been heard of; it has read all metadata. */
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
