package org.apache.kafka.controller;

import java.util.List;
import java.util.function.Supplier;
import org.apache.kafka.common.message.BrokerRegistrationRequestData;
import org.apache.kafka.common.metadata.ClearElrRecord;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.metadata.BrokerRegistration;
import org.apache.kafka.metadata.BrokerRegistrationReply;
import org.apache.kafka.metadata.FinalizedControllerFeatures;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/** Calls of the controller's managers since Kafka 4.0 that differ from those in 3.9. */
final class ControllerSignatures {
    private ControllerSignatures() { }

    /** The features of a quorum's only controller, including those that are not for production yet. */
    static QuorumFeatures quorumFeatures() {
        return new QuorumFeatures(0, QuorumFeatures.defaultSupportedFeatureMap(true), List.of(0));
    }

    static ConfigurationControlManager.Builder with(
        FeatureControlManager features, ConfigurationControlManager.Builder builder
    ) {
        return builder.setFeatureControl(features);
    }

    static ClusterControlManager.Builder with(
        Supplier<ReplicationControlManager> replication, ClusterControlManager.Builder builder
    ) {
        return builder.setBrokerShutdownHandler((int broker, boolean clean, List<ApiMessageAndVersion> records) ->
            replication.get().handleBrokerShutdown(broker, clean, records));
    }

    static ReplicationControlManager.Builder withElr(ReplicationControlManager.Builder builder) {
        return builder; // A feature switches eligible leader replicas on or off.
    }

    /** Replays a record of a type that 3.9 does not have. Returns false for records of other types. */
    static boolean replay(ReplicationControlManager replication, ApiMessage record) {
        if (record instanceof ClearElrRecord x) {
            replication.replay(x);
            return true;
        }
        return false;
    }

    /** Notes a heartbeat of a broker. */
    static void hear(ControllerManagers managers, BrokerRegistration broker) {
        managers.brokers.trackBrokerHeartbeat(broker.id(), broker.epoch());
    }

    /** Fences one broker whose session has ended. Skips ended sessions of earlier incarnations. */
    static ControllerResult<?> fenceOneStaleBroker(ReplicationControlManager replication) {
        ControllerResult<Boolean> found = replication.maybeFenceOneStaleBroker();
        while (found.records().isEmpty() && found.response()) {
            found = replication.maybeFenceOneStaleBroker();
        }
        return found;
    }

    static ControllerResult<BrokerRegistrationReply> registerBroker(
        ControllerManagers managers, BrokerRegistrationRequestData request, long epoch,
        FinalizedControllerFeatures finalized
    ) {
        return managers.brokers.registerBroker(request, epoch, finalized, true);
    }
}
