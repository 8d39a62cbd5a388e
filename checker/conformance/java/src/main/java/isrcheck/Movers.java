package isrcheck;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.file.Path;
import java.util.Map;
import kafka.server.KafkaConfig;
import kafka.server.LocalLeaderEndPoint;
import kafka.server.ReplicaAlterLogDirsManager;
import kafka.server.ReplicaAlterLogDirsThread;
import kafka.server.ReplicaManager;
import kafka.server.ReplicationQuotaManager;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.server.common.DirectoryEventHandler;
import org.apache.kafka.server.network.BrokerEndPoint;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;
import scala.jdk.javaapi.CollectionConverters;

/** Moves logs to other directories of a broker. The thread that copies acts only when `move` calls it. */
final class Movers extends ReplicaAlterLogDirsManager {
    private static final int MOST_COPIES = 100;

    private final KafkaConfig config;
    private final ReplicaManager replicaManager;
    private final ReplicationQuotaManager quota;
    private final BrokerTopicStats stats;
    private ReplicaAlterLogDirsThread thread = null;

    Movers(
        KafkaConfig config, ReplicaManager replicaManager, ReplicationQuotaManager quota, BrokerTopicStats stats
    ) {
        super(config, replicaManager, quota, stats, DirectoryEventHandler.NOOP);
        this.config = config;
        this.replicaManager = replicaManager;
        this.quota = quota;
        this.stats = stats;
    }

    @Override
    public ReplicaAlterLogDirsThread createFetcherThread(int number, BrokerEndPoint self) {
        thread = new ReplicaAlterLogDirsThread("mover", new LocalLeaderEndPoint(self, config, replicaManager, quota),
            failedPartitions(), replicaManager, quota, stats, 0, DirectoryEventHandler.NOOP) {
            @Override
            public void start() { }
        };
        return thread;
    }

    /** Moves a log with all its records to another directory: AlterReplicaLogDirs, and all copying that it starts. */
    JsonNode move(TopicPartition partition, Path directory) {
        Errors error = CollectionConverters.asJava(replicaManager.alterReplicaLogDirs(
            CollectionConverters.asScala(Map.of(partition, directory.toString())))).get(partition);
        ObjectNode found = JsonNodeFactory.instance.objectNode();
        for (int i = 0; error == Errors.NONE && replicaManager.futureLogExists(partition); i++) {
            if (i == MOST_COPIES) {
                return found.put("refused", "the copy of the log does not come to its end");
            }
            thread.doWork();
        }
        return error == Errors.NONE ? found : found.put("refused", error.name());
    }
}
