/*
 * Licensed under the Apache License, Version 2.0: https://www.apache.org/licenses/LICENSE-2.0
 */
package kafka.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.mockito.ArgumentMatchers.anyInt;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import kafka.server.FailedPartitions;
import kafka.server.InitialFetchState;
import kafka.server.KafkaConfig;
import kafka.server.ReplicaAlterLogDirsManager;
import kafka.server.ReplicaFetcherThread;
import kafka.server.ReplicaManager;
import org.apache.kafka.common.DirectoryId;
import org.apache.kafka.server.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.errors.OperationNotAttemptedException;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.message.OffsetForLeaderEpochRequestData.OffsetForLeaderPartition;
import org.apache.kafka.common.message.OffsetForLeaderEpochResponseData.EpochEndOffset;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.Records;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.requests.FetchRequest;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.LeaderAndIsr;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.MetadataCache;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.LeaderEndPoint;
import org.apache.kafka.server.PartitionFetchState;
import org.apache.kafka.server.ReplicaFetch;
import org.apache.kafka.server.ResultWithPartitions;
import org.apache.kafka.server.common.OffsetAndEpoch;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.common.TransactionVersion;
import org.apache.kafka.server.network.BrokerEndPoint;
import org.apache.kafka.server.partition.AlterPartitionListener;
import org.apache.kafka.server.partition.AlterPartitionManager;
import org.apache.kafka.server.quota.ReplicaQuota;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.storage.log.FetchParams;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.checkpoint.OffsetCheckpoints;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogManager;
import org.apache.kafka.storage.internals.log.LogReadInfo;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.log.VerificationGuard;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import scala.Option;
import scala.Tuple2;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Ways in which a record is lost that a producer with acks=all was told is safe: replication factor 3 (and 2),
 * min.insync.replicas 2 (and raised to 2), every election clean.
 *
 * Real are three Partitions with their logs and epoch caches on disk. The test says what a broker hears of metadata and
 * when, which follower fetches when, and what the controller answers; what it says is what a KRaft controller would
 * commit. A follower does with an answer what its fetcher thread does: it truncates where the logs diverge, or appends,
 * and takes over the high watermark.
 */
public class AcknowledgedRecordLossTest {
    private static final int A = 0;
    private static final int B = 1;
    private static final int C = 2;
    private static final long LAG_MS = 30_000;
    private static final TopicPartition PARTITION = new TopicPartition("topic", 0);
    private static final Uuid TOPIC_ID = Uuid.fromString("AAAAAAAAAAAAAAAAAAAAAQ");

    @TempDir
    Path folder;
    private final Time time = mock(Time.class);
    private final Map<Integer, Replica> replicas = new LinkedHashMap<>();
    /** What producers were told is safe. */
    private final List<String> acknowledged = new ArrayList<>();

    @BeforeEach
    public void start() throws Exception {
        when(time.milliseconds()).thenReturn(1_000_000_000L);
        for (int id : List.of(A, B, C)) {
            replicas.put(id, new Replica(id));
        }
    }

    @AfterEach
    public void stop() throws Exception {
        for (Replica replica : replicas.values()) {
            replica.logManager.shutdown(-1);
        }
    }

    // --- a leader that hears at once of two elections keeps what it knew of its followers -----------------------------

    @Test
    public void leaderThatHearsOfTwoElectionsAtOnce() throws Exception {
        twoElections(true, false);
        assertNothingIsLost(C);
    }

    @Test
    public void leaderThatHearsOfTwoElectionsOneByOne() throws Exception {
        twoElections(false, false);
        assertEquals(List.of("base"), acknowledged);
        assertNothingIsLost(C);
    }

    @Test
    public void leaderThatHearsOfTwoElectionsAtOnceAndTheFollowerFetchesInTime() throws Exception {
        twoElections(true, true);
        assertEquals(List.of("base", "record"), acknowledged);
        assertNothingIsLost(C);
    }

    /** Replicas 1, 0, 2: broker B is the preferred leader. */
    private void twoElections(boolean atOnce, boolean fetchesInTime) throws Exception {
        int[] assigned = {B, A, C};
        hears(A, registration(assigned, A, 1, 1, A, B, C));
        hears(B, registration(assigned, A, 1, 1, A, B, C));
        hears(C, registration(assigned, A, 1, 1, A, B, C));
        replicas.get(A).produce("base");
        fetch(B, A, 1);
        fetch(C, A, 1);
        fetch(B, A, 1);
        fetch(C, A, 1);
        assertEquals(List.of("base"), acknowledged);

        // The preferred leader B is elected. A is late in hearing of it, and C fetches once more before it does.
        replicas.get(A).produce("record");
        fetch(C, A, 1);
        fetch(C, A, 1);
        hears(B, registration(assigned, B, 2, 2, A, B, C));
        hears(C, registration(assigned, B, 2, 2, A, B, C));
        fetch(C, B, 2); // C has a record that B, whose log ends before it, never had: it truncates.
        assertEquals(List.of("base"), replicas.get(C).records());

        // B shuts down: A is elected, whose metadata has neither change yet.
        hears(C, registration(assigned, A, 3, 3, A, C));
        if (!atOnce) {
            hears(A, registration(assigned, B, 2, 2, A, B, C));
        }
        hears(A, registration(assigned, A, 3, 3, A, C));
        if (fetchesInTime) {
            fetch(C, A, 3);
        }

        // A goes before C has fetched again. C is a member of the ISR.
        hears(C, registration(assigned, C, 4, 4, C));
    }

    // --- the record of one change of the ISR makes the leader forget the next one that it has asked for ---------------

    @Test
    public void recordOfAChangeThatTheLeaderKnowsArrivesWhileTheNextIsPending() throws Exception {
        twoExpansions(true, false);
        assertNothingIsLost(C);
    }

    @Test
    public void recordOfAChangeArrivesBeforeTheNextIsAskedFor() throws Exception {
        twoExpansions(false, false);
        assertEquals(List.of(), acknowledged);
        assertNothingIsLost(C);
    }

    @Test
    public void recordOfAChangeThatTheLeaderKnowsArrivesWhileTheNextIsPendingAndTheFollowerFetchesInTime()
        throws Exception {
        twoExpansions(true, true);
        assertEquals(List.of("first", "second"), acknowledged);
        assertNothingIsLost(C);
    }

    /** Replicas 0, 2, 1: B and C return, of which C is preferred to B. */
    private void twoExpansions(boolean late, boolean fetchesInTime) throws Exception {
        int[] assigned = {A, C, B};
        hears(A, registration(assigned, A, 0, 2, A));
        hears(B, registration(assigned, A, 0, 2, A));
        hears(C, registration(assigned, A, 0, 2, A));

        // B fetches, and the controller takes it into the ISR: the answer is there before the record of metadata.
        fetch(B, A, 0);
        replicas.get(A).answered(3, A, B);
        if (!late) {
            hears(A, registration(assigned, A, 0, 3, A, B));
        }

        // C fetches for the first time, of two records one. The leader asks for it, too; the controller grants that.
        replicas.get(A).produce("first");
        replicas.get(A).produce("second");
        fetch(C, A, 0);
        assertEquals(List.of("first"), replicas.get(C).records());
        if (late) {
            hears(A, registration(assigned, A, 0, 3, A, B));
        }

        fetch(B, A, 0);
        fetch(B, A, 0);
        fetch(B, A, 0); // Where C is not waited for, the high watermark passes both records.
        replicas.get(A).answered(4, A, B, C);

        if (fetchesInTime) {
            fetch(C, A, 0);
            fetch(C, A, 0);
        }

        // A goes, before C has fetched again and before it has heard of its last change. C is a member of the ISR.
        hears(C, registration(assigned, C, 1, 5, B, C));
    }

    // --- a leader notes a fetch in a later epoch than the one in which it has read for it ---------------------------

    @Test
    public void fetchIsNotedInALaterEpoch() throws Exception {
        electionsDuringAFetch(true, true);
        assertNothingIsLost(C);
    }

    @Test
    public void fetchIsNotedInALaterEpochByALeaderThatWasAFollowerMeanwhile() throws Exception {
        electionsDuringAFetch(true, false);
        assertEquals(List.of("base"), acknowledged);
        assertNothingIsLost(C);
    }

    @Test
    public void noFetchIsUnderWay() throws Exception {
        electionsDuringAFetch(false, true);
        assertEquals(List.of("base"), acknowledged);
        assertNothingIsLost(C);
    }

    /** As with two elections, but A knows nothing of the last record of C until it notes a fetch of epoch 1 late. */
    private void electionsDuringAFetch(boolean late, boolean atOnce) throws Exception {
        int[] assigned = {B, A, C};
        for (int broker : assigned) {
            hears(broker, registration(assigned, A, 1, 1, A, B, C));
        }
        replicas.get(A).produce("base");
        fetch(B, A, 1);
        fetch(C, A, 1);
        fetch(B, A, 1);
        fetch(C, A, 1);
        assertEquals(List.of("base"), acknowledged);

        replicas.get(A).produce("record");
        fetch(C, A, 1);
        Step elections = () -> {
            hears(B, registration(assigned, B, 2, 2, A, B, C));
            hears(C, registration(assigned, B, 2, 2, A, B, C));
            fetch(C, B, 2); // It truncates.
            if (!atOnce) {
                hears(A, registration(assigned, B, 2, 2, A, B, C));
            }
            hears(C, registration(assigned, A, 3, 3, A, C));
            hears(A, registration(assigned, A, 3, 3, A, C));
        };
        if (late) {
            replicas.get(A).beforeNoting = elections;
            read(C, A, 1); // C follows in epoch 3 when the answer comes, and drops it.
        } else {
            elections.take();
        }
        assertEquals(List.of("base"), replicas.get(C).records());
        hears(C, registration(assigned, C, 4, 4, C));
    }

    // --- min.insync.replicas is raised, and the leader hears of a smaller ISR first ----------------------------------

    @Test
    public void smallerIsrIsHeardBeforeTheRaisedMinInSyncReplicas() {
        raisedMinInSyncReplicas(false);
        assertNothingIsLost(B);
    }

    @Test
    public void raisedMinInSyncReplicasIsHeardBeforeTheSmallerIsr() {
        raisedMinInSyncReplicas(true);
        assertEquals(List.of(), acknowledged);
        assertNothingIsLost(B);
    }

    /** Replicas 0, 1. In one delta BrokerMetadataPublisher applies partitions first, then configurations. */
    private void raisedMinInSyncReplicas(boolean configurationFirst) {
        int[] assigned = {A, B};
        for (int broker : assigned) {
            replicas.get(broker).topic.put("min.insync.replicas", "1");
            hears(broker, registration(assigned, A, 0, 1, A, B));
        }
        replicas.get(A).produce("record");
        assertEquals(List.of(), acknowledged);

        // min.insync.replicas is 2 from now on; then the session of B ends, which the controller keeps as eligible.
        if (configurationFirst) {
            replicas.get(A).setMinInSyncReplicas("2");
        }
        hears(A, registration(assigned, A, 0, 2, A));
        replicas.get(A).setMinInSyncReplicas("2");

        // A goes. Nobody is in the ISR; B comes back, and is elected from the eligible leader replicas.
        hears(B, registration(assigned, B, 2, 4, B));
    }

    // --- a fetcher thread compares the epoch, lets go of its lock, and truncates two epochs later ----------------------

    @Test
    public void threadTruncatesTwoEpochsAfterItHasComparedTheEpoch() throws Exception {
        lateTruncation(true, true);
        assertNothingIsLost(A);
    }

    @Test
    public void threadGoesOnBeforeItsBrokerFollowsAgain() throws Exception {
        lateTruncation(true, false);
        assertEquals(List.of("second"), acknowledged);
        assertNothingIsLost(A);
    }

    @Test
    public void threadTruncatesAtOnce() throws Exception {
        lateTruncation(false, false);
        assertEquals(List.of("second"), acknowledged);
        assertNothingIsLost(A);
    }

    /** Replicas 1, 0: broker B is the preferred leader. The thread of A fetches another partition from B as well. */
    private void lateTruncation(boolean late, boolean untilItFollowsAgain) throws Exception {
        int[] assigned = {B, A};
        hears(A, registration(assigned, A, 0, 0, A, B));
        hears(B, registration(assigned, A, 0, 0, A, B));
        replicas.get(A).produce("first");
        hears(A, registration(assigned, B, 1, 1, A, B));
        replicas.get(A).tellProducers(); // Nobody is told that the first record is safe.
        hears(B, registration(assigned, B, 1, 1, A, B));

        FetcherThread thread = new FetcherThread();
        thread.add(1);
        Step leads = () -> {
            // The session of B ends, and it comes back: into the ISR as well, once it has what A has.
            thread.remove();
            hears(A, registration(assigned, A, 2, 2, A));
            hears(B, registration(assigned, A, 2, 2, A));
            fetch(B, A, 2);
            fetch(B, A, 2);
            fetch(B, A, 2);
            hears(A, registration(assigned, A, 2, 3, A, B));
            replicas.get(A).produce("second");
            fetch(B, A, 2);
            fetch(B, A, 2);
            assertTrue(acknowledged.contains("second"));
        };
        Step follows = () -> { // The preferred leader B is elected.
            hears(A, registration(assigned, B, 3, 4, A, B));
            hears(B, registration(assigned, B, 3, 4, A, B));
            thread.add(3);
        };
        if (late) {
            thread.beforeTruncating = untilItFollowsAgain ? () -> {
                leads.take();
                follows.take();
            } : leads;
        }
        thread.doWork(); // The answer is that the logs diverge: epoch 0 ends at 0 on B.
        if (!late) {
            assertEquals(List.of(), replicas.get(A).records());
            leads.take();
        }
        if (!untilItFollowsAgain) {
            follows.take();
        }
        hears(A, registration(assigned, A, 4, 5, A)); // B crashes.
    }

    // --- what is asserted ----------------------------------------------------------------------------------------------

    private void assertNothingIsLost(int leader) {
        List<String> has = replicas.get(leader).records();
        assertTrue(has.containsAll(acknowledged),
            "producers were told that " + acknowledged + " is safe; the leader that was elected has " + has);
    }

    // --- steps ---------------------------------------------------------------------------------------------------------

    private PartitionRegistration registration(int[] assigned, int leader, int leaderEpoch, int version, int... isr) {
        return new PartitionRegistration.Builder().setReplicas(assigned)
            .setDirectories(DirectoryId.unassignedArray(assigned.length)).setIsr(isr).setLeader(leader)
            .setLeaderRecoveryState(LeaderRecoveryState.RECOVERED).setLeaderEpoch(leaderEpoch)
            .setPartitionEpoch(version).build();
    }

    /** A broker applies a delta of metadata that ends with this. */
    private void hears(int broker, PartitionRegistration registration) {
        Replica replica = replicas.get(broker);
        OffsetCheckpoints none = (directory, partition) -> Optional.empty();
        if (registration.leader == broker) {
            replica.partition.makeLeader(registration, false, none, Option.apply(TOPIC_ID), Option.empty());
        } else {
            replica.partition.makeFollower(registration, false, none, Option.apply(TOPIC_ID), Option.empty());
        }
    }

    /** A follower fetches one batch and handles the answer. */
    private void fetch(int broker, int leader, int leaderEpoch) throws Exception {
        UnifiedLog log = replicas.get(broker).log();
        LogReadInfo answer = read(broker, leader, leaderEpoch);
        if (answer.divergingEpoch().isPresent()) {
            truncate(replicas.get(broker), answer.divergingEpoch().get());
            return;
        }
        if (answer.fetchedData().records.sizeInBytes() > 0) {
            replicas.get(broker).partition.appendRecordsToFollowerOrFutureReplica(
                copy(answer.fetchedData().records), false, leaderEpoch);
        }
        log.maybeUpdateHighWatermark(answer.highWatermark());
    }

    /** A leader reads for a follower, and notes how far that is. */
    private LogReadInfo read(int broker, int leader, int leaderEpoch) throws Exception {
        UnifiedLog log = replicas.get(broker).log();
        FetchRequest.PartitionData request = new FetchRequest.PartitionData(TOPIC_ID, log.logEndOffset(), 0, 1,
            Optional.of(leaderEpoch), log.latestEpoch());
        return replicas.get(leader).partition.fetchRecords(
            new FetchParams(broker, brokerEpoch(broker), 0, 1, 1, FetchIsolation.LOG_END, Optional.empty()), request,
            time.milliseconds(), 1, true, true);
    }

    /** As AbstractFetcherThread does: to where the last epoch that both have ends in the log in which it ends first. */
    private void truncate(Replica replica, FetchResponseData.EpochEndOffset diverging) throws Exception {
        OffsetAndEpoch own = replica.log().endOffsetForEpoch(diverging.epoch()).get();
        replica.partition.truncateTo(Math.min(own.offset(), diverging.endOffset()), false);
    }

    private static MemoryRecords copy(Records records) {
        List<SimpleRecord> found = new ArrayList<>();
        int epoch = -1;
        long offset = -1;
        for (var batch : records.batches()) {
            epoch = batch.partitionLeaderEpoch();
            offset = offset < 0 ? batch.baseOffset() : offset;
            for (Record record : batch) {
                found.add(new SimpleRecord(record));
            }
        }
        return MemoryRecords.withRecords(offset, Compression.NONE, epoch, found.toArray(new SimpleRecord[0]));
    }

    /** The thread of A that fetches from B. */
    private final class FetcherThread extends ReplicaFetcherThread {
        /** What happens after the lock is let go under which the epoch is compared, before that of the truncation. */
        private Step beforeTruncating = () -> { };

        FetcherThread() {
            super("fetcher", new Connection(), replicas.get(A).config, new FailedPartitions(), replicaManager(),
                mock(ReplicaQuota.class), "");
        }

        /** ReplicaManager.applyDelta, as the broker follows in that epoch. */
        void add(int leaderEpoch) {
            addPartitions(CollectionConverters.asScala(Map.of(PARTITION, new InitialFetchState(
                Option.apply(TOPIC_ID), new BrokerEndPoint(B, "localhost", 9092), leaderEpoch,
                replicas.get(A).log().logEndOffset()))));
        }

        void remove() {
            removePartitions(CollectionConverters.asScala(Set.of(PARTITION)));
        }

        @Override
        public void truncateOnFetchResponse(scala.collection.Map<TopicPartition, EpochEndOffset> ends) {
            assertFalse(partitionMapLock().isHeldByCurrentThread());
            beforeTruncating.takeUnchecked();
            super.truncateOnFetchResponse(ends);
        }
    }

    private ReplicaManager replicaManager() {
        ReplicaManager found = mock(ReplicaManager.class);
        when(found.getPartitionOrException(PARTITION)).thenReturn(replicas.get(A).partition);
        when(found.localLogOrException(PARTITION)).thenReturn(replicas.get(A).log());
        when(found.replicaAlterLogDirsManager()).thenReturn(mock(ReplicaAlterLogDirsManager.class));
        when(found.brokerTopicStats()).thenReturn(new BrokerTopicStats());
        return found;
    }

    /** What RemoteLeaderEndPoint is, without a network: the replica of B is asked directly. */
    private final class Connection implements LeaderEndPoint {
        private FetchRequest.PartitionData request;

        @Override
        public boolean isTruncationOnFetchSupported() {
            return true;
        }

        @Override
        public void initiateClose() { }

        @Override
        public void close() { }

        @Override
        public BrokerEndPoint brokerEndPoint() {
            return new BrokerEndPoint(B, "localhost", 9092);
        }

        @Override
        public ResultWithPartitions<Optional<ReplicaFetch>> buildFetch(
            Map<TopicPartition, PartitionFetchState> partitions
        ) {
            PartitionFetchState state = partitions.get(PARTITION);
            request = new FetchRequest.PartitionData(TOPIC_ID, state.fetchOffset(), 0, 1,
                Optional.of(state.currentLeaderEpoch()), state.lastFetchedEpoch());
            return new ResultWithPartitions<>(
                Optional.of(new ReplicaFetch(Map.of(PARTITION, request), null)), Set.of());
        }

        @Override
        public Map<TopicPartition, FetchResponseData.PartitionData> fetch(FetchRequest.Builder unused) {
            FetchParams params = new FetchParams(
                A, brokerEpoch(A), 0, 1, 1, FetchIsolation.LOG_END, Optional.empty());
            LogReadInfo found = replicas.get(B).partition.fetchRecords(
                params, request, time.milliseconds(), 1, true, true);
            return Map.of(PARTITION, new FetchResponseData.PartitionData().setPartitionIndex(PARTITION.partition())
                .setDivergingEpoch(found.divergingEpoch().orElseThrow()).setRecords(MemoryRecords.EMPTY));
        }

        @Override
        public OffsetAndEpoch fetchEarliestOffset(TopicPartition partition, int epoch) {
            throw new UnsupportedOperationException();
        }

        @Override
        public OffsetAndEpoch fetchLatestOffset(TopicPartition partition, int epoch) {
            throw new UnsupportedOperationException();
        }

        @Override
        public OffsetAndEpoch fetchEarliestLocalOffset(TopicPartition partition, int epoch) {
            throw new UnsupportedOperationException();
        }

        /** Of tiered storage, since Kafka 4.3. */
        public OffsetAndEpoch fetchEarliestPendingUploadOffset(TopicPartition partition, int epoch) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Map<TopicPartition, EpochEndOffset> fetchEpochEndOffsets(
            Map<TopicPartition, OffsetForLeaderPartition> partitions
        ) {
            throw new UnsupportedOperationException();
        }
    }

    private static long brokerEpoch(int broker) {
        return 1000 + broker;
    }

    private interface Step {
        void take() throws Exception;

        default void takeUnchecked() {
            try {
                take();
            } catch (Exception error) {
                throw new AssertionError(error);
            }
        }
    }

    /** A broker's replica. */
    private final class Replica {
        private final KafkaConfig config;
        private final LogManager logManager;
        private final Partition partition;
        /** Records for which producers wait, each with the offset after it. */
        private final Map<String, Long> waiting = new LinkedHashMap<>();
        private CompletableFuture<LeaderAndIsr> asked = CompletableFuture.completedFuture(null);
        private LeaderAndIsr question;
        private final Properties topic = new Properties();
        /** What happens between the lock under which the next fetch is read for and that under which it is noted. */
        private Step beforeNoting = () -> { };

        Replica(int id) throws Exception {
            Properties properties = new Properties();
            properties.put("process.roles", "broker");
            properties.put("node.id", String.valueOf(id));
            properties.put("controller.quorum.voters", "100@localhost:9999");
            properties.put("controller.listener.names", "CONTROLLER");
            properties.put("listeners", "PLAINTEXT://localhost:9092");
            properties.put("listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT");
            properties.put("log.dirs", folder.resolve(String.valueOf(id)).toString());
            properties.put("log.cleaner.enable", "false");
            topic.put("min.insync.replicas", "2");
            config = new KafkaConfig(properties, false);
            logManager = kafka.log.LogManager.apply(config, Set.of(), resource -> topic,
                mock(Scheduler.class), time, new BrokerTopicStats(), new LogDirFailureChannel(1));
            logManager.startup(Set.of());

            MetadataCache metadataCache = mock(MetadataCache.class);
            when(metadataCache.getAliveBrokerEpoch(anyInt()))
                .thenAnswer(call -> Optional.of(brokerEpoch(call.getArgument(0))));
            DelayedOperations delayedOperations = new DelayedOperations(
                Option.apply(TOPIC_ID), PARTITION, null, null, null, null) {
                @Override
                public void checkAndCompleteAll() {
                    tellProducers();
                }

                @Override
                public int numDelayedDelete() { // Asked first of all as a fetch is noted, without a lock.
                    Step first = beforeNoting;
                    beforeNoting = () -> { };
                    first.takeUnchecked();
                    return 0;
                }
            };
            partition = new Partition(PARTITION, LAG_MS, id, () -> brokerEpoch(id), time,
                mock(AlterPartitionListener.class), delayedOperations, metadataCache, logManager, new OneRequest(),
                Option.apply(TOPIC_ID));
        }

        UnifiedLog log() {
            return partition.localLogOrException();
        }

        void setMinInSyncReplicas(String value) {
            topic.put("min.insync.replicas", value);
            log().updateConfig(new LogConfig(topic));
        }

        /** A producer with acks=all. */
        void produce(String value) {
            MemoryRecords records = MemoryRecords.withRecords(Compression.NONE,
                new SimpleRecord(value.getBytes(StandardCharsets.UTF_8)));
            partition.appendRecordsToLeader(records, AppendOrigin.CLIENT, -1, RequestLocal.noCaching(),
                VerificationGuard.SENTINEL, TransactionVersion.TV_UNKNOWN);
            waiting.put(value, log().logEndOffset());
            tellProducers();
        }

        /** DelayedProduce.tryComplete. */
        private void tellProducers() {
            waiting.entrySet().removeIf(write -> {
                Tuple2<Object, Errors> found = partition.checkEnoughReplicasReachOffset(write.getValue());
                boolean complete = (Boolean) found._1() || found._2() != Errors.NONE;
                if (complete && found._2() == Errors.NONE) {
                    acknowledged.add(write.getKey());
                }
                return complete;
            });
        }

        /** The controller has granted the ISR that was asked for. */
        void answered(int version, int... isr) {
            assertEquals(Set.copyOf(Arrays.stream(isr).boxed().toList()), question.isr());
            asked.complete(question.withPartitionEpoch(version));
        }

        List<String> records() {
            try {
                List<String> found = new ArrayList<>();
                for (Record record : log().read(0, Integer.MAX_VALUE, FetchIsolation.LOG_END, true).records.records()) {
                    found.add(StandardCharsets.UTF_8.decode(record.value()).toString());
                }
                return found;
            } catch (Exception error) {
                throw new AssertionError(error);
            }
        }

        /** As DefaultAlterPartitionManager: one request of a partition at a time. */
        private final class OneRequest implements AlterPartitionManager {
            @Override
            public CompletableFuture<LeaderAndIsr> submit(TopicIdPartition partition, LeaderAndIsr leaderAndIsr) {
                CompletableFuture<LeaderAndIsr> future = new CompletableFuture<>();
                if (!asked.isDone()) {
                    future.completeExceptionally(new OperationNotAttemptedException("another one is under way"));
                    return future;
                }
                asked = future;
                question = leaderAndIsr;
                return future;
            }

            @Override
            public void start() { }

            @Override
            public void shutdown() { }
        }
    }
}
