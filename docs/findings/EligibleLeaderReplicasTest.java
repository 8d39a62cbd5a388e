/*
 * Licensed under the Apache License, Version 2.0: https://www.apache.org/licenses/LICENSE-2.0
 */
package org.apache.kafka.controller;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
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
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.AssignReplicasToDirsRequestData;
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
import org.apache.kafka.common.metadata.RemoveTopicRecord;
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
 * What the controller keeps of eligible leader replicas (ELR) where it should not: the index by broker of an ELR that was
 * cleared, a replica whose directory is gone, and one whose directory fails as its broker is unfenced.
 *
 * Real are ReplicationControlManager, ClusterControlManager and what they ask. The test replays the records of each
 * answer, as a quorum would commit them.
 */
public class EligibleLeaderReplicasTest {
    private static final long SESSION_NS = TimeUnit.SECONDS.toNanos(9);
    private static final String TOPIC = "topic";
    private static final Uuid LOST = new Uuid(2, 1);
    private static final Uuid EMPTY = new Uuid(3, 1);

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
        .setBrokerShutdownHandler(this::stopped).build();
    private final ReplicationControlManager replication = new ReplicationControlManager.Builder()
        .setLogContext(context).setSnapshotRegistry(snapshots).setConfigurationControl(configurations)
        .setClusterControl(brokers).setFeatureControl(features).build();
    private long offset = 0;

    /** One partition on brokers 0 and 1, both in the ISR, min.insync.replicas 2. */
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
            register(broker, directory(broker), -1);
            hears(broker);
        }
        var topic = new CreateTopicsRequestData.CreatableTopic().setName(TOPIC)
            .setNumPartitions(-1).setReplicationFactor((short) -1);
        topic.assignments().add(new CreateTopicsRequestData.CreatableReplicaAssignment()
            .setPartitionIndex(0).setBrokerIds(List.of(0, 1)));
        CreateTopicsRequestData request = new CreateTopicsRequestData();
        request.topics().add(topic);
        replay(replication.createTopics(request(ApiKeys.CREATE_TOPICS), request, Set.of(TOPIC), false));
        setMinInSyncReplicas("2");
        assign(0, directory(0));
        assign(1, directory(1));
        assertEquals(0, partition().leader);
        assertArrayEquals(new int[] {0, 1}, partition().isr);
    }

    // --- the index of an ELR that was cleared -----------------------------------------------------------------------

    @Test
    public void brokerRegistersThoughATopicIsGoneWhoseClearedElrHadIt() {
        fence(1);
        assertArrayEquals(new int[] {1}, partition().elr);
        setMinInSyncReplicas("1");
        assertArrayEquals(new int[] {}, partition().elr);
        deleteTopic();
        assertDoesNotThrow(() -> register(1, directory(1), -1),
            "broker 1, which was not shut down cleanly, cannot register");
    }

    @Test
    public void brokerRegistersThoughATopicIsGoneWhoseElrHadIt() {
        fence(1);
        assertArrayEquals(new int[] {1}, partition().elr);
        deleteTopic();
        register(1, directory(1), -1);
    }

    @Test
    public void uncleanStopIsOneChangeThoughTheElrWasCleared() {
        uncleanStop(true);
    }

    @Test
    public void uncleanStopIsOneChange() {
        uncleanStop(false);
    }

    private void uncleanStop(boolean cleared) {
        fence(1);
        if (cleared) {
            setMinInSyncReplicas("1");
            assertArrayEquals(new int[] {}, partition().elr);
            setMinInSyncReplicas("2");
            hears(1);
            addToIsr(0, 1);
            fence(1);
        }
        assertArrayEquals(new int[] {1}, partition().elr);
        int before = partition().partitionEpoch;
        register(1, directory(1), -1);
        assertArrayEquals(new int[] {}, partition().elr);
        assertEquals(1, partition().partitionEpoch - before, "changes of the partition by one unclean stop");
    }

    // --- a directory that is gone -----------------------------------------------------------------------------------

    @Test
    public void replicaThatIsMadeAnewIsNotElectedBeforeItHasFetched() {
        restart(EMPTY);
        fence(0);
        assertEquals(-1, partition().leader, "the log of broker 1 is new and empty; it was elected, "
            + partition().leaderRecoveryState);
    }

    @Test
    public void replicaThatIsWhereItWasIsElected() {
        restart(LOST);
        fence(0);
        assertEquals(1, partition().leader);
    }

    /** Broker 1 is shut down cleanly, and is started with a directory; if it is another one it says so. */
    private void restart(Uuid directory) {
        fence(1);
        register(1, directory, brokers.brokerRegistrations().get(1).epoch());
        hears(1);
        if (!directory.equals(LOST)) {
            assign(1, directory);
        }
    }

    /** A broker says in which of its directories its replica is. */
    private void assign(int broker, Uuid directory) {
        var assigned = new AssignReplicasToDirsRequestData().setBrokerId(broker)
            .setBrokerEpoch(brokers.brokerRegistrations().get(broker).epoch());
        assigned.directories().add(new AssignReplicasToDirsRequestData.DirectoryData().setId(directory).setTopics(List.of(
            new AssignReplicasToDirsRequestData.TopicData().setTopicId(replication.getTopicId(TOPIC)).setPartitions(
                List.of(new AssignReplicasToDirsRequestData.PartitionData().setPartitionIndex(0))))));
        replay(replication.handleAssignReplicasToDirs(assigned));
    }

    // --- a directory that fails as its broker is unfenced -----------------------------------------------------------

    @Test
    public void replicaThatHasAllIsElectedWhereAnotherHasLostItsDirectoryAsItWasUnfenced() {
        unfencedWithoutItsDirectory(true);
        assertEquals(0, partition().leader, "broker 0 has every record and is active; the ISR is "
            + Arrays.toString(partition().isr) + ", the ELR " + Arrays.toString(partition().elr));
    }

    @Test
    public void replicaThatHasAllIsElectedWhereAnotherHasLostItsDirectoryBefore() {
        unfencedWithoutItsDirectory(false);
        assertEquals(0, partition().leader);
    }

    /** Nobody leads; then broker 1 is heard of, without its directory, then broker 0, then the periodic task runs. */
    private void unfencedWithoutItsDirectory(boolean inOneHeartbeat) {
        fence(1);
        fence(0);
        assertArrayEquals(new int[] {0, 1}, partition().elr);
        if (!inOneHeartbeat) {
            heartbeat(1, true, LOST);
        }
        heartbeat(1, false, LOST);
        heartbeat(0, false);
        replay(replication.maybeBalancePartitionLeaders());
    }

    // --- what is asked of the controller --------------------------------------------------------------------------------

    private PartitionRegistration partition() {
        return replication.getPartition(replication.getTopicId(TOPIC), 0);
    }

    private static Uuid directory(int broker) {
        return new Uuid(2, broker);
    }

    private void stopped(int broker, boolean clean, List<ApiMessageAndVersion> records) {
        replication.handleBrokerShutdown(broker, clean, records);
    }

    private void setMinInSyncReplicas(String value) {
        replay(configurations.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.TOPIC, TOPIC),
            Map.of(TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG, Map.entry(AlterConfigOp.OpType.SET, value))), false, false));
    }

    private void deleteTopic() {
        replay(replication.deleteTopics(request(ApiKeys.DELETE_TOPICS), List.of(replication.getTopicId(TOPIC))));
    }

    /** The leader asks for another ISR. */
    private void addToIsr(int leader, int broker) {
        PartitionRegistration partition = partition();
        AlterPartitionRequestData request = new AlterPartitionRequestData().setBrokerId(leader)
            .setBrokerEpoch(brokers.brokerRegistrations().get(leader).epoch());
        request.topics().add(new AlterPartitionRequestData.TopicData().setTopicId(replication.getTopicId(TOPIC))
            .setPartitions(List.of(new AlterPartitionRequestData.PartitionData().setPartitionIndex(0)
                .setLeaderEpoch(partition.leaderEpoch).setPartitionEpoch(partition.partitionEpoch)
                .setNewIsrWithEpochs(List.of(member(leader), member(broker))))));
        replay(replication.alterPartition(request(ApiKeys.ALTER_PARTITION), request));
        assertArrayEquals(new int[] {leader, broker}, partition().isr);
    }

    private AlterPartitionRequestData.BrokerState member(int broker) {
        return new AlterPartitionRequestData.BrokerState().setBrokerId(broker)
            .setBrokerEpoch(brokers.brokerRegistrations().get(broker).epoch());
    }

    /** A broker starts; after a clean stop it names the broker epoch that it had. */
    private void register(int broker, Uuid directory, long previousEpoch) {
        BrokerRegistrationRequestData request = new BrokerRegistrationRequestData().setBrokerId(broker)
            .setClusterId("cluster").setIncarnationId(new Uuid(offset, broker)).setLogDirs(List.of(directory, new Uuid(4, broker)))
            .setPreviousBrokerEpoch(previousEpoch);
        request.listeners().add(new BrokerRegistrationRequestData.Listener().setName("PLAINTEXT")
            .setHost("localhost").setPort(9092 + broker));
        features.finalizedFeatures(Long.MAX_VALUE).featureMap().forEach((name, level) -> request.features().add(
            new BrokerRegistrationRequestData.Feature().setName(name).setMaxSupportedVersion(level)));
        replay(brokers.registerBroker(request, offset + 1, features.finalizedFeatures(Long.MAX_VALUE), true));
    }

    /** The controller hears of a broker, and unfences it. */
    private void hears(int broker) {
        brokers.trackBrokerHeartbeat(broker, brokers.brokerRegistrations().get(broker).epoch());
        heartbeat(broker, false);
    }

    private void heartbeat(int broker, boolean wantsFence, Uuid... failed) {
        replay(replication.processBrokerHeartbeat(new BrokerHeartbeatRequestData().setBrokerId(broker)
            .setBrokerEpoch(brokers.brokerRegistrations().get(broker).epoch()).setCurrentMetadataOffset(offset)
            .setWantFence(wantsFence).setOfflineLogDirs(List.of(failed)),
            brokers.registerBrokerRecordOffset(broker).getAsLong()));
    }

    /** The session of one broker ends, and not that of the other. */
    private void fence(int broker) {
        nanoseconds += SESSION_NS + 1_000_000;
        for (BrokerRegistration other : brokers.brokerRegistrations().values()) {
            if (other.id() != broker && !other.fenced()) {
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
        } else if (message instanceof RemoveTopicRecord record) {
            replication.replay(record);
        } else if (message instanceof ClearElrRecord record) {
            replication.replay(record);
        } else {
            throw new AssertionError(message);
        }
    }
}
