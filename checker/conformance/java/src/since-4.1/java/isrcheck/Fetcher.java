package isrcheck;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import kafka.server.FailedPartitions;
import kafka.server.KafkaConfig;
import kafka.server.ReplicaFetcherThread;
import kafka.server.ReplicaManager;
import kafka.server.ReplicaQuota;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.message.OffsetForLeaderEpochRequestData.OffsetForLeaderPartition;
import org.apache.kafka.common.message.OffsetForLeaderEpochResponseData.EpochEndOffset;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.Records;
import org.apache.kafka.common.requests.FetchRequest;
import org.apache.kafka.server.LeaderEndPoint;
import org.apache.kafka.server.PartitionFetchState;
import org.apache.kafka.server.ReplicaFetch;
import org.apache.kafka.server.ResultWithPartitions;
import org.apache.kafka.server.common.OffsetAndEpoch;
import org.apache.kafka.server.network.BrokerEndPoint;

/**
 * A follower's fetcher thread that acts only when it is told to. It sends a request in `send`, and takes the answer in
 * `receive`. In between, the answer is on its way.
 */
final class Fetcher extends ReplicaFetcherThread {
    private final Connection connection;
    private boolean late = false;
    private scala.collection.Map<TopicPartition, EpochEndOffset> truncating = null;

    Fetcher(
        String name,
        Connection connection,
        KafkaConfig config,
        FailedPartitions failed,
        ReplicaManager replicaManager,
        ReplicaQuota quota
    ) {
        super(name, connection, config, failed, replicaManager, quota, name);
        this.connection = connection;
    }

    @Override
    public void start() { } // The harness's only thread does the work.

    /** Calls doWork, which truncates if necessary, builds a request and sends it. */
    JsonNode send() {
        connection.asked = null;
        connection.answer = null;
        connection.arrives = false;
        late = false;
        doWork();
        ObjectNode found = JsonNodeFactory.instance.objectNode();
        return connection.asked == null ? found.put("refused", "the fetcher has nothing to ask for") : found;
    }

    /** The question that the fetcher would ask now, or null if there is none. The last request stays as it is. */
    FetchRequest.PartitionData question() {
        Map<TopicPartition, FetchRequest.PartitionData> before = connection.asked;
        connection.asked = null;
        connection.onlyAsks = true;
        doWork();
        Map<TopicPartition, FetchRequest.PartitionData> found = connection.asked;
        connection.onlyAsks = false;
        connection.asked = before;
        return found == null ? null : found.get(connection.cluster.partition());
    }

    /** Lets the answer arrive in processFetchRequest. If the fetcher truncates later, the second call truncates. */
    JsonNode receive() {
        if (truncating != null) {
            super.truncateOnFetchResponse(truncating);
            truncating = null;
            return drop();
        }
        if (connection.answer == null || late) {
            return JsonNodeFactory.instance.objectNode().put("refused", "no answer is under way");
        }
        process();
        return truncating == null ? drop() : JsonNodeFactory.instance.objectNode();
    }

    /** Called by processFetchRequest, which has released its lock. A fetcher that truncates later stops here. */
    @Override
    public void truncateOnFetchResponse(scala.collection.Map<TopicPartition, EpochEndOffset> ends) {
        if (connection.cluster.truncatesLater) {
            truncating = ends;
        } else {
            super.truncateOnFetchResponse(ends);
        }
    }

    private void process() {
        connection.arrives = true;
        processFetchRequest(connection.asked, null);
    }

    /** Marks the answer as late, and lets it arrive. It arrives again after each `publish` until the next request. */
    JsonNode late() {
        late = true;
        return arriveLate();
    }

    JsonNode arriveLate() {
        if (late && connection.answer != null) {
            process();
        }
        return JsonNodeFactory.instance.objectNode();
    }

    JsonNode drop() {
        connection.asked = null;
        connection.answer = null;
        return JsonNodeFactory.instance.objectNode();
    }

    boolean follows() {
        return fetchState(connection.cluster.partition()).isDefined();
    }

    /** The answer on its way, or null. A late answer counts only if the fetcher is still to truncate for it. */
    JsonNode state() {
        if (connection.answer == null || late && truncating == null) {
            return JsonNodeFactory.instance.nullNode();
        }
        FetchRequest.PartitionData asked = connection.asked.get(connection.cluster.partition());
        FetchResponseData.PartitionData said = connection.answer;
        ObjectNode found = JsonNodeFactory.instance.objectNode().put("epoch", asked.currentLeaderEpoch.orElse(-1))
            .put("offset", asked.fetchOffset).put("error", Errors.forCode(said.errorCode()).name())
            .put("high_watermark", said.highWatermark()).put("end_epoch", said.divergingEpoch().epoch())
            .put("end", said.divergingEpoch().endOffset())
            .put("truncating", truncating != null);
        ArrayNode records = found.putArray("records");
        Logs.records((Records) said.records()).forEach(records::add);
        return found;
    }

    /** Stands for RemoteLeaderEndPoint. It asks the leader directly, without a network. */
    static final class Connection implements LeaderEndPoint {
        private final Cluster cluster;
        private final int follower;
        private final BrokerEndPoint endPoint;
        private Map<TopicPartition, FetchRequest.PartitionData> asked = null;
        private FetchResponseData.PartitionData answer = null;
        private boolean arrives = false;
        private boolean onlyAsks = false;

        Connection(Cluster cluster, int follower, BrokerEndPoint endPoint) {
            this.cluster = cluster;
            this.follower = follower;
            this.endPoint = endPoint;
        }

        private Broker leader() {
            return cluster.brokers.get(endPoint.id());
        }

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
            return endPoint;
        }

        @Override
        public Map<TopicPartition, FetchResponseData.PartitionData> fetch(FetchRequest.Builder request) {
            if (onlyAsks) {
                return Map.of();
            }
            if (arrives) {
                return Map.of(cluster.partition(), answer);
            }
            long epoch = cluster.brokers.get(follower).brokerEpoch;
            answer = leader().handleFetch(follower, epoch, asked.get(cluster.partition()));
            return Map.of();
        }

        @Override
        public ResultWithPartitions<Optional<ReplicaFetch>> buildFetch(
            Map<TopicPartition, PartitionFetchState> partitions
        ) {
            Map<TopicPartition, FetchRequest.PartitionData> found = new LinkedHashMap<>();
            partitions.forEach((partition, state) -> {
                if (state.isReadyForFetch()) {
                    found.put(partition, new FetchRequest.PartitionData(
                        cluster.partition.topicId(), state.fetchOffset(), 0, Broker.ONE_BATCH,
                        Optional.of(state.currentLeaderEpoch()), state.lastFetchedEpoch()));
                }
            });
            if (found.isEmpty()) {
                return new ResultWithPartitions<>(Optional.empty(), Set.of());
            }
            asked = found;
            return new ResultWithPartitions<>(Optional.of(new ReplicaFetch(found, null)), Set.of());
        }

        @Override
        public OffsetAndEpoch fetchEarliestOffset(TopicPartition partition, int epoch) {
            return new OffsetAndEpoch(Log.of(leader().partition()).logStartOffset(), epoch);
        }

        @Override
        public OffsetAndEpoch fetchLatestOffset(TopicPartition partition, int epoch) {
            return new OffsetAndEpoch(
                Differences.end(leader().partition().fetchOffsetSnapshot(Optional.of(epoch), false)), epoch);
        }

        /** Kafka has this method since 4.3, for tiered storage. */
        public OffsetAndEpoch fetchEarliestPendingUploadOffset(TopicPartition partition, int epoch) {
            throw new UnsupportedOperationException("no segment waits to be uploaded");
        }

        @Override
        public OffsetAndEpoch fetchEarliestLocalOffset(TopicPartition partition, int epoch) {
            return fetchEarliestOffset(partition, epoch);
        }

        @Override
        public Map<TopicPartition, EpochEndOffset> fetchEpochEndOffsets(
            Map<TopicPartition, OffsetForLeaderPartition> partitions
        ) {
            throw new IllegalStateException("a fetcher that truncates as it fetches does not ask for this");
        }
    }
}
