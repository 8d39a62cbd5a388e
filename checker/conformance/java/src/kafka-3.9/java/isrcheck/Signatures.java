package isrcheck;

import java.io.File;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import kafka.log.LogManager;
import kafka.server.QuotaFactory;
import kafka.server.ReplicaManager;
import kafka.server.ReplicaQuota;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.storage.internals.checkpoint.OffsetCheckpointFile;
import org.apache.kafka.storage.internals.log.EpochEntry;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import scala.jdk.javaapi.CollectionConverters;

/** Calls of Kafka 3.9 that have other arguments since 4.0, or Java's maps instead of Scala's. */
final class Signatures {
    private Signatures() { }

    /** The newest metadata version for production or, for eligible leader replicas, a later one. */
    static List<ApiMessage> features(boolean eligibleLeaderReplicas) {
        MetadataVersion version =
            eligibleLeaderReplicas ? MetadataVersion.IBP_4_0_IV0 : MetadataVersion.latestProduction();
        return List.of(
            new FeatureLevelRecord().setName(MetadataVersion.FEATURE_NAME).setFeatureLevel(version.featureLevel()));
    }

    static MetadataProvenance provenance(long offset) {
        return new MetadataProvenance(offset, 1, Broker.NOW_MS);
    }

    static ReplicaQuota noQuota() {
        return QuotaFactory.UnboundedQuota$.MODULE$;
    }

    static void updateTopicConfig(LogManager logManager, ConfigResource topic, MetadataImage image) {
        logManager.updateTopicConfig(topic.name(), image.configs().configProperties(topic), false, false, false);
    }

    static Iterable<EpochEntry> epochs(UnifiedLog log) {
        return log.leaderEpochCache().get().epochEntries();
    }

    private static OffsetCheckpointFile highWatermarks(Path directory) throws Exception {
        return new OffsetCheckpointFile(
            new File(directory.toFile(), ReplicaManager.HighWatermarkFilename()), new LogDirFailureChannel(1));
    }

    /** The high watermark in a directory's checkpoint, or null if it has none. */
    static Long highWatermark(Path directory, TopicPartition partition) throws Exception {
        return (Long) highWatermarks(directory).read().get(partition).getOrElse(() -> null);
    }

    static void writeHighWatermark(Path directory, TopicPartition partition, long offset) throws Exception {
        highWatermarks(directory).write(CollectionConverters.asScala(Map.of(partition, offset)));
    }
}
