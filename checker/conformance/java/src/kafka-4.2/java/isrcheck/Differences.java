package isrcheck;

import java.lang.reflect.Field;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import kafka.log.LogManager;
import kafka.server.AlterPartitionManager;
import kafka.server.DefaultAlterPartitionManager;
import kafka.server.KafkaConfig;
import kafka.server.metadata.KRaftMetadataCache;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.server.util.FileLock;
import org.apache.kafka.storage.internals.log.EpochEntry;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogOffsetSnapshot;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;
import scala.jdk.javaapi.CollectionConverters;

/** Calls that differ between versions of Kafka: of LogManager, of AlterPartitionManager, and of some small classes. */
final class Differences {
    private Differences() { }

    static LogManager logManager(
        KafkaConfig config, KRaftMetadataCache cache, Clock time, BrokerTopicStats stats, LogDirFailureChannel failures
    ) {
        return LogManager.apply(config, CollectionConverters.asScala(List.<String>of()).toSeq(), cache, time.scheduler,
            time, stats, failures);
    }

    /** Loads logs as a broker does before it first publishes metadata. If `image` is null, no log counts as stray. */
    static void load(LogManager logManager, KRaftMetadataCache cache, int broker, MetadataImage image) {
        logManager.startup(CollectionConverters.asScala(cache.getAllTopics()).toSet(), log -> image != null
            && org.apache.kafka.storage.internals.log.LogManager.isStrayKraftReplica(broker, image.topics(), log));
    }

    static Optional<UnifiedLog> log(LogManager logManager, TopicPartition partition) {
        return Optional.ofNullable(logManager.getLog(partition, false).getOrElse(() -> null));
    }

    static AlterPartitionManager alterPartitionManager(
        ControllerChannel channel, Clock time, int broker, long brokerEpoch
    ) {
        return new DefaultAlterPartitionManager(channel, time.scheduler, time, broker, () -> brokerEpoch);
    }

    /**
     * Forgets the lock of a failed directory. Otherwise LogManager.shutdown frees the lock a second time and throws an
     * exception, which BrokerServer ignores.
     */
    static void forgetLock(LogManager logManager, Path directory) throws ReflectiveOperationException {
        Field field = LogManager.class.getDeclaredField("dirLocks");
        field.setAccessible(true);
        @SuppressWarnings("unchecked")
        var locks = (scala.collection.Seq<FileLock>) field.get(logManager);
        field.set(logManager, CollectionConverters.asScala(CollectionConverters.asJava(locks).stream()
            .filter(x -> !x.file().toPath().startsWith(directory)).toList()).toSeq());
    }

    static void put(Map<Integer, Long> epochs, EpochEntry entry) {
        epochs.put(entry.epoch(), entry.startOffset());
    }

    static long end(LogOffsetSnapshot snapshot) {
        return snapshot.logEndOffset().messageOffset;
    }
}
