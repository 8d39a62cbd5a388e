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

/** What a controller is made of, and asked, otherwise than in Kafka 3.9. */
final class ControllerSignatures {
    private ControllerSignatures() { }

    /** What the only controller of a quorum can do, also what is not for production yet. */
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
        return builder; // A feature says whether they are there.
    }

    /** Whether it was a record that 3.9 has not. */
    static boolean replay(ReplicationControlManager replication, ApiMessage record) {
        if (record instanceof ClearElrRecord x) {
            replication.replay(x);
            return true;
        }
        return false;
    }

    /** A broker has been heard of. */
    static void hear(ControllerManagers managers, BrokerRegistration broker) {
        managers.brokers.trackBrokerHeartbeat(broker.id(), broker.epoch());
    }

    /** Fences one broker whose session has ended; sessions of former lives end as well, and nothing comes of them. */
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
