package isrcheck;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import kafka.cluster.Partition;
import kafka.log.LogManager;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.record.Records;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.storage.internals.log.EpochEntry;
import org.apache.kafka.storage.internals.log.UnifiedLog;

/** A UnifiedLog. Its package depends on the version of Kafka. */
record Log(UnifiedLog log) {
    static Optional<Log> of(LogManager logManager, TopicPartition partition) {
        return Differences.log(logManager, partition).map(Log::new);
    }

    static Log of(Partition partition) {
        return new Log(partition.localLogOrException());
    }

    Records records() throws Exception {
        return log.read(log.logStartOffset(), Integer.MAX_VALUE, FetchIsolation.LOG_END, true).records;
    }

    Map<Integer, Long> epochs() {
        Map<Integer, Long> found = new LinkedHashMap<>();
        for (EpochEntry entry : Signatures.epochs(log)) {
            Differences.put(found, entry);
        }
        return found;
    }

    String parentDirectory() {
        return log.parentDir();
    }

    long highWatermark() {
        return log.highWatermark();
    }

    long logStartOffset() {
        return log.logStartOffset();
    }

    void truncateTo(long offset) {
        log.truncateTo(offset);
    }
}
