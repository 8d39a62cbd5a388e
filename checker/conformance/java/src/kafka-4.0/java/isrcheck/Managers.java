package isrcheck;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import kafka.cluster.Partition;
import kafka.cluster.PartitionState;
import kafka.cluster.PendingPartitionChange;
import kafka.cluster.Replica;
import kafka.cluster.ReplicaState;
import kafka.log.LogManager;
import kafka.server.AlterPartitionManager;
import kafka.server.KafkaConfig;
import kafka.server.QuotaFactory;
import kafka.server.ReplicaFetcherManager;
import kafka.server.ReplicaFetcherThread;
import kafka.server.ReplicaManager;
import kafka.server.ReplicationQuotaManager;
import kafka.server.metadata.KRaftMetadataCache;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.server.common.DirectoryEventHandler;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.network.BrokerEndPoint;
import org.apache.kafka.server.purgatory.DelayedOperation;
import org.apache.kafka.server.purgatory.DelayedOperationPurgatory;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.storage.log.FetchParams;
import org.apache.kafka.server.util.timer.Timer;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.BoxedUnit;

/** Calls that differ between versions of Kafka, most of them of ReplicaManager. */
final class Managers {
    private Managers() { }

    /** A ReplicaManager with the harness's fetchers and movers, and without threads or timers of its own. */
    static ReplicaManager replicaManager(
        Broker broker,
        Cluster cluster,
        KafkaConfig config,
        Metrics metrics,
        LogManager logManager,
        QuotaFactory.QuotaManagers quotas,
        KRaftMetadataCache metadataCache,
        LogDirFailureChannel failures,
        AlterPartitionManager alterPartitionManager,
        BrokerTopicStats stats
    ) {
        return new ReplicaManager(config, metrics, cluster.time, cluster.time.scheduler, logManager, Option.empty(),
            quotas, metadataCache, failures, alterPartitionManager, stats, new AtomicBoolean(false),
            purgatory("Produce", broker.id),
            purgatory("Fetch", broker.id), purgatory("DeleteRecords", broker.id, UnnotedFetch.timer()),
            purgatory("RemoteFetch", broker.id),
            purgatory("RemoteListOffsets", broker.id), purgatory("ShareFetch", broker.id), Option.empty(),
            () -> broker.brokerEpoch, Option.empty(), DirectoryEventHandler.NOOP,
            ReplicaManager.$lessinit$greater$default$23()) {
            @Override
            public Movers createReplicaAlterLogDirsManager(ReplicationQuotaManager quota, BrokerTopicStats stats) {
                broker.movers = new Movers(config, this, quota, stats);
                return broker.movers;
            }

            @Override
            public ReplicaFetcherManager createReplicaFetcherManager(
                Metrics metrics, Time time, Option<String> prefix, ReplicationQuotaManager quota
            ) {
                return new Fetchers(broker, cluster, config, this, metrics, time, quota);
            }
        };
    }

    private static <T extends DelayedOperation> Option<DelayedOperationPurgatory<T>> purgatory(String name, int id) {
        return purgatory(name, id, new Clock.Nothing());
    }

    private static <T extends DelayedOperation> Option<DelayedOperationPurgatory<T>> purgatory(
        String name, int id, Timer timer
    ) {
        return Option.apply(new DelayedOperationPurgatory<T>(name, timer, id, 1000, false, false));
    }

    /** Fetchers that stay when they are idle. Kafka's fetchers stay if they also fetch other partitions. */
    private static final class Fetchers extends ReplicaFetcherManager {
        private final Broker broker;
        private final Cluster cluster;
        private final KafkaConfig config;
        private final ReplicationQuotaManager quota;

        Fetchers(
            Broker broker,
            Cluster cluster,
            KafkaConfig config,
            ReplicaManager replicaManager,
            Metrics metrics,
            Time time,
            ReplicationQuotaManager quota
        ) {
            super(config, replicaManager, metrics, time, Option.empty(), quota, MetadataVersion::latestProduction,
                () -> broker.brokerEpoch);
            this.broker = broker;
            this.cluster = cluster;
            this.config = config;
            this.quota = quota;
        }

        @Override
        public ReplicaFetcherThread createFetcherThread(int number, BrokerEndPoint leader) {
            Fetcher found = new Fetcher("fetcher-" + broker.id + "-" + leader.id(),
                new Fetcher.Connection(cluster, broker.id, leader), config, failedPartitions(), replicaManager(),
                quota);
            broker.fetchers.put(leader.id(), found);
            return found;
        }

        @Override
        public void shutdownIdleFetcherThreads() { }
    }

    static QuotaFactory.QuotaManagers quotas(KafkaConfig config, Metrics metrics, Time time) {
        return QuotaFactory.instantiate(config, metrics, time, "");
    }

    static FetchParams fetchParams(int follower, long epoch) {
        return new FetchParams(
            ApiKeys.FETCH.latestVersion(), follower, epoch, 0, 1, Broker.ONE_BATCH, FetchIsolation.LOG_END, Optional.empty());
    }

    static void append(
        ReplicaManager replicaManager, TopicIdPartition partition, MemoryRecords records, Consumer<Errors> callback
    ) {
        replicaManager.appendRecords(Long.MAX_VALUE, (short) -1, false, AppendOrigin.CLIENT,
            CollectionConverters.asScala(Map.of(partition.topicPartition(), records)), answers -> {
                callback.accept(answers.head()._2().error);
                return BoxedUnit.UNIT;
            }, Option.empty(), replicaManager.appendRecords$default$8(), RequestLocal.noCaching(),
            replicaManager.appendRecords$default$10(), replicaManager.appendRecords$default$11());
    }

    static void writeIsr(ObjectNode found, Partition partition) {
        PartitionState state = partition.partitionState();
        write(found.putArray("isr"), numbers(state.isr()));
        write(found.putArray("maximal_isr"), numbers(state.maximalIsr()));
        ArrayNode pending = found.putArray("pending");
        if (state instanceof PendingPartitionChange change) {
            write(pending, change.sentLeaderAndIsr().isr());
        }
    }

    @SuppressWarnings("unchecked")
    private static Collection<Integer> numbers(scala.collection.immutable.Set<Object> brokers) {
        return (Collection<Integer>) (Collection<?>) CollectionConverters.asJava(brokers);
    }

    private static void write(ArrayNode found, Collection<Integer> brokers) {
        new TreeSet<>(brokers).forEach(found::add);
    }

    static void writeFollowers(ObjectNode found, Partition partition) {
        for (Replica replica : CollectionConverters.asJava(partition.remoteReplicas())) {
            ReplicaState state = replica.stateSnapshot();
            found.putObject(String.valueOf(replica.brokerId())).put("end", state.logEndOffset())
                .put("broker_epoch", (Long) state.brokerEpoch().getOrElse(() -> -1L))
                .put("caught_up", Broker.NOW_MS - state.lastCaughtUpTimeMs() <= Broker.LAG_MS);
        }
    }
}
