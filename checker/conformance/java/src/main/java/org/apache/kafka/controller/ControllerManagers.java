package org.apache.kafka.controller;

import isrcheck.Clock;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import kafka.server.KafkaRaftServer;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.metadata.BrokerRegistrationChangeRecord;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.metadata.BrokerRegistration;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.metadata.placement.StripedReplicaPlacer;
import org.apache.kafka.timeline.SnapshotRegistry;

/**
 * The managers of QuorumController, without its queue, its log and its timers. The caller must append the records and
 * replay them. The managers have a clock of their own, which moves when a session is to end.
 */
public final class ControllerManagers {
    static final long SESSION_NS = TimeUnit.SECONDS.toNanos(9);
    static final String CLUSTER = "isrcheck";

    final Clock clock = new Clock(0, 1_000_000_000L);
    final FeatureControlManager features;
    final ClusterControlManager brokers;
    final ConfigurationControlManager configurations;
    final ReplicationControlManager replication;
    private long offset = 0;

    /** Replays the first records, and makes the controller active. */
    public ControllerManagers(List<ApiMessage> first) {
        LogContext context = new LogContext();
        SnapshotRegistry snapshots = new SnapshotRegistry(context);
        features = new FeatureControlManager.Builder().setLogContext(context).setSnapshotRegistry(snapshots)
            .setQuorumFeatures(ControllerSignatures.quorumFeatures()).build();
        configurations = ControllerSignatures.with(features, new ConfigurationControlManager.Builder()
            .setLogContext(context).setSnapshotRegistry(snapshots)
            .setKafkaConfigSchema(KafkaRaftServer.configSchema()).setStaticConfig(Map.of())).build();
        brokers = ControllerSignatures.with(this::replication, new ClusterControlManager.Builder()
            .setLogContext(context).setClusterId(CLUSTER).setTime(clock)
            .setSnapshotRegistry(snapshots).setSessionTimeoutNs(SESSION_NS)
            .setReplicaPlacer(new StripedReplicaPlacer(new Random(0))).setFeatureControlManager(features)).build();
        replication = ControllerSignatures.withElr(new ReplicationControlManager.Builder()
            .setLogContext(context).setSnapshotRegistry(snapshots)
            .setConfigurationControl(configurations).setClusterControl(brokers)
            .setCreateTopicPolicy(Optional.empty()).setFeatureControl(features)).build();
        replay(first);
        brokers.activate();
    }

    private ReplicationControlManager replication() {
        return replication;
    }

    /** Replays each record in the manager for its type, as QuorumController.replay does. */
    public void replay(List<ApiMessage> records) {
        for (ApiMessage record : records) {
            offset += 1;
            if (record instanceof FeatureLevelRecord x) {
                features.replay(x);
            } else if (record instanceof RegisterBrokerRecord x) {
                brokers.replay(x, offset);
            } else if (record instanceof BrokerRegistrationChangeRecord x) {
                brokers.replay(x);
            } else if (record instanceof ConfigRecord x) {
                configurations.replay(x);
            } else if (record instanceof TopicRecord x) {
                replication.replay(x);
            } else if (record instanceof PartitionRecord x) {
                replication.replay(x);
            } else if (record instanceof PartitionChangeRecord x) {
                replication.replay(x);
            } else if (!ControllerSignatures.replay(replication, record)) {
                throw new IllegalStateException("nobody replays " + record);
            }
        }
    }

    /** The offset of the last record. */
    long offset() {
        return offset;
    }

    public PartitionRegistration partition(TopicIdPartition partition) {
        return replication.getPartition(partition.topicId(), partition.partition());
    }

    public Map<Integer, BrokerRegistration> registrations() {
        return brokers.brokerRegistrations();
    }
}
