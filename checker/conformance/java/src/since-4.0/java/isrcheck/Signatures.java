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
import org.apache.kafka.server.common.EligibleLeaderReplicasVersion;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.storage.internals.checkpoint.OffsetCheckpointFile;
import org.apache.kafka.storage.internals.log.EpochEntry;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.UnifiedLog;

/** Calls of Kafka since 4.0 that have other arguments in 3.9, or Scala's maps instead of Java's. */
final class Signatures {
    private Signatures() { }

    /** The newest metadata version for production, with or without eligible leader replicas. */
    static List<ApiMessage> features(boolean eligibleLeaderReplicas) {
        return List.of(
            new FeatureLevelRecord().setName(MetadataVersion.FEATURE_NAME)
                .setFeatureLevel(MetadataVersion.latestProduction().featureLevel()),
            new FeatureLevelRecord().setName(EligibleLeaderReplicasVersion.FEATURE_NAME)
                .setFeatureLevel((short) (eligibleLeaderReplicas ? 1 : 0)));
    }

    static MetadataProvenance provenance(long offset) {
        return new MetadataProvenance(offset, 1, Broker.NOW_MS, true);
    }

    static ReplicaQuota noQuota() {
        return QuotaFactory.UNBOUNDED_QUOTA;
    }

    static void updateTopicConfig(LogManager logManager, ConfigResource topic, MetadataImage image) {
        logManager.updateTopicConfig(topic.name(), image.configs().configProperties(topic), false, false);
    }

    static Iterable<EpochEntry> epochs(UnifiedLog log) {
        return log.leaderEpochCache().epochEntries();
    }

    private static OffsetCheckpointFile highWatermarks(Path directory) throws Exception {
        return new OffsetCheckpointFile(
            new File(directory.toFile(), ReplicaManager.HighWatermarkFilename()), new LogDirFailureChannel(1));
    }

    /** The high watermark in a directory's checkpoint, or null if it has none. */
    static Long highWatermark(Path directory, TopicPartition partition) throws Exception {
        return highWatermarks(directory).read().get(partition);
    }

    static void writeHighWatermark(Path directory, TopicPartition partition, long offset) throws Exception {
        highWatermarks(directory).write(Map.of(partition, offset));
    }
}
