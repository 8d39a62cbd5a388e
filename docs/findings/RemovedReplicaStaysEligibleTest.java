/*
 * Licensed under the Apache License, Version 2.0: https://www.apache.org/licenses/LICENSE-2.0
 */
package org.apache.kafka.controller;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import kafka.server.KafkaRaftServer;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.BrokerHeartbeatRequestData;
import org.apache.kafka.common.message.BrokerRegistrationRequestData;
import org.apache.kafka.common.message.CreateTopicsRequestData;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.metadata.BrokerRegistrationChangeRecord;
import org.apache.kafka.common.metadata.ClearElrRecord;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.internals.LogContext;
import org.apache.kafka.metadata.BrokerRegistration;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.metadata.placement.StripedReplicaPlacer;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.EligibleLeaderReplicasVersion;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.timeline.SnapshotRegistry;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * A replica that a reassignment removes is an eligible leader replica from then on. If it is added again it is elected
 * before it has fetched anything, with an empty log, and that election counts as clean.
 *
 * Real are ReplicationControlManager, ClusterControlManager and what they ask. The test replays the records of each
 * answer, as a quorum would commit them.
 */
public class RemovedReplicaStaysEligibleTest {
    private static final long SESSION_NS = TimeUnit.SECONDS.toNanos(9);
    private static final String TOPIC = "topic";
    private static final int OTHER_PARTITION = 1;

    private final Time time = mock(Time.class);
    private long nanoseconds = 0;
    private final LogContext context = new LogContext();
    private final SnapshotRegistry snapshots = new SnapshotRegistry(context);
    private final FeatureControlManager features = new FeatureControlManager.Builder().setLogContext(context)
        .setSnapshotRegistry(snapshots)
        .setQuorumFeatures(new QuorumFeatures(0, QuorumFeatures.defaultSupportedFeatureMap(true), List.of(0))).build();
    private final ConfigurationControlManager configurations = new ConfigurationControlManager.Builder()
        .setLogContext(context).setSnapshotRegistry(snapshots).setKafkaConfigSchema(KafkaRaftServer.configSchema())
        .setStaticConfig(Map.of()).setFeatureControl(features).build();
    private final ClusterControlManager brokers = new ClusterControlManager.Builder().setLogContext(context)
        .setClusterId("cluster").setTime(time).setSnapshotRegistry(snapshots).setSessionTimeoutNs(SESSION_NS)
        .setReplicaPlacer(new StripedReplicaPlacer(new Random(0))).setFeatureControlManager(features)
        .setBrokerShutdownHandler((broker, clean, records) -> { }).build();
    private final ReplicationControlManager replication = new ReplicationControlManager.Builder()
        .setLogContext(context).setSnapshotRegistry(snapshots).setConfigurationControl(configurations)
        .setClusterControl(brokers).setFeatureControl(features).build();
    private long offset = 0;

    /** Two partitions on brokers 0 and 1, both in the ISR, min.insync.replicas 2. */
    @BeforeEach
    public void start() {
        when(time.nanoseconds()).thenAnswer(call -> nanoseconds);
        when(time.milliseconds()).thenAnswer(call -> TimeUnit.NANOSECONDS.toMillis(nanoseconds));
        replay(new FeatureLevelRecord().setName(MetadataVersion.FEATURE_NAME)
            .setFeatureLevel(MetadataVersion.latestProduction().featureLevel()));
        replay(new FeatureLevelRecord().setName(EligibleLeaderReplicasVersion.FEATURE_NAME)
            .setFeatureLevel(EligibleLeaderReplicasVersion.ELRV_1.featureLevel()));
        brokers.activate();
        for (int broker : List.of(0, 1)) {
            register(broker);
        }
        var topic = new CreateTopicsRequestData.CreatableTopic().setName(TOPIC)
            .setNumPartitions(-1).setReplicationFactor((short) -1);
        for (int partition : List.of(0, OTHER_PARTITION)) {
            topic.assignments().add(new CreateTopicsRequestData.CreatableReplicaAssignment()
                .setPartitionIndex(partition).setBrokerIds(List.of(0, 1)));
        }
        CreateTopicsRequestData request = new CreateTopicsRequestData();
        request.topics().add(topic);
        replay(replication.createTopics(request(ApiKeys.CREATE_TOPICS), request, Set.of(TOPIC), false));
        replay(configurations.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.TOPIC, TOPIC),
            Map.of(TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG, Map.entry(AlterConfigOp.OpType.SET, "2"))), false, false));
        assertEquals(0, partition().leader);
        assertArrayEquals(new int[] {0, 1}, partition().isr);
    }

    @Test
    public void eligibleLeaderReplicasAreReplicas() {
        reassign(0);
        assertArrayEquals(new int[] {0}, partition().replicas);
        assertTrue(Arrays.stream(partition().elr).allMatch(replica -> replica == 0),
            "replicas are [0]; eligible leader replicas are " + Arrays.toString(partition().elr));
    }

    @Test
    public void replicaThatIsAddedAgainIsNotElectedBeforeItHasFetched() {
        reassign(0); // Broker 0 takes writes alone from here on, and broker 1 deletes its log.
        reassign(1);
        fence(0);
        assertEquals(-1, partition().leader,
            "broker 1 was added and has fetched nothing; it was elected, " + partition().leaderRecoveryState);
    }

    @Test
    public void replicaThatIsAddedAgainIsElectedOnceItHasJoined() {
        reassign(0);
        reassign(1);
        addToIsr(0, 1);
        assertEquals(1, partition().leader);
    }

    // --- what is asked of the controller --------------------------------------------------------------------------------

    private PartitionRegistration partition() {
        return replication.getPartition(replication.getTopicId(TOPIC), OTHER_PARTITION);
    }

    private void reassign(Integer... replicas) {
        AlterPartitionReassignmentsRequestData request = new AlterPartitionReassignmentsRequestData();
        request.topics().add(new AlterPartitionReassignmentsRequestData.ReassignableTopic().setName(TOPIC)
            .setPartitions(List.of(new AlterPartitionReassignmentsRequestData.ReassignablePartition()
                .setPartitionIndex(OTHER_PARTITION).setReplicas(List.of(replicas)))));
        replay(replication.alterPartitionReassignments(request));
    }

    /** The leader asks for another ISR. */
    private void addToIsr(int leader, int broker) {
        PartitionRegistration partition = partition();
        AlterPartitionRequestData request = new AlterPartitionRequestData().setBrokerId(leader)
            .setBrokerEpoch(brokers.brokerRegistrations().get(leader).epoch());
        request.topics().add(new AlterPartitionRequestData.TopicData().setTopicId(replication.getTopicId(TOPIC))
            .setPartitions(List.of(new AlterPartitionRequestData.PartitionData().setPartitionIndex(OTHER_PARTITION)
                .setLeaderEpoch(partition.leaderEpoch).setPartitionEpoch(partition.partitionEpoch)
                .setNewIsrWithEpochs(List.of(member(leader), member(broker))))));
        replay(replication.alterPartition(request(ApiKeys.ALTER_PARTITION), request));
    }

    private AlterPartitionRequestData.BrokerState member(int broker) {
        return new AlterPartitionRequestData.BrokerState().setBrokerId(broker)
            .setBrokerEpoch(brokers.brokerRegistrations().get(broker).epoch());
    }

    private void register(int broker) {
        BrokerRegistrationRequestData request = new BrokerRegistrationRequestData().setBrokerId(broker)
            .setClusterId("cluster").setIncarnationId(new Uuid(1, broker)).setLogDirs(List.of(new Uuid(2, broker)));
        request.listeners().add(new BrokerRegistrationRequestData.Listener().setName("PLAINTEXT")
            .setHost("localhost").setPort(9092 + broker));
        features.finalizedFeatures(Long.MAX_VALUE).featureMap().forEach((name, level) -> request.features().add(
            new BrokerRegistrationRequestData.Feature().setName(name).setMaxSupportedVersion(level)));
        replay(brokers.registerBroker(request, offset + 1, features.finalizedFeatures(Long.MAX_VALUE), true));
        BrokerRegistration registered = brokers.brokerRegistrations().get(broker);
        brokers.trackBrokerHeartbeat(broker, registered.epoch());
        replay(replication.processBrokerHeartbeat(new BrokerHeartbeatRequestData().setBrokerId(broker)
            .setBrokerEpoch(registered.epoch()).setCurrentMetadataOffset(offset).setWantFence(false),
            brokers.registerBrokerRecordOffset(broker).getAsLong()));
    }

    /** The session of one broker ends, and not that of the other. */
    private void fence(int broker) {
        nanoseconds += SESSION_NS + 1_000_000;
        for (BrokerRegistration other : brokers.brokerRegistrations().values()) {
            if (other.id() != broker) {
                brokers.trackBrokerHeartbeat(other.id(), other.epoch());
            }
        }
        replay(replication.maybeFenceOneStaleBroker());
    }

    private static ControllerRequestContext request(ApiKeys key) {
        RequestHeaderData header =
            new RequestHeaderData().setRequestApiKey(key.id).setRequestApiVersion(key.latestVersion());
        return new ControllerRequestContext(header, KafkaPrincipal.ANONYMOUS, OptionalLong.empty());
    }

    private void replay(ControllerResult<?> result) {
        result.records().stream().map(ApiMessageAndVersion::message).forEach(this::replay);
    }

    private void replay(ApiMessage message) {
        offset += 1;
        if (message instanceof FeatureLevelRecord record) {
            features.replay(record);
        } else if (message instanceof RegisterBrokerRecord record) {
            brokers.replay(record, offset);
        } else if (message instanceof BrokerRegistrationChangeRecord record) {
            brokers.replay(record);
        } else if (message instanceof ConfigRecord record) {
            configurations.replay(record);
        } else if (message instanceof TopicRecord record) {
            replication.replay(record);
        } else if (message instanceof PartitionRecord record) {
            replication.replay(record);
        } else if (message instanceof PartitionChangeRecord record) {
            replication.replay(record);
        } else if (message instanceof ClearElrRecord record) {
            replication.replay(record);
        } else {
            throw new AssertionError(message);
        }
    }
}
