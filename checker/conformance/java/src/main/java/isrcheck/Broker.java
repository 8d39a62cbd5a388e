package isrcheck;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReference;
import kafka.cluster.Partition;
import kafka.log.LogManager;
import kafka.server.KafkaConfig;
import kafka.server.QuotaFactory;
import kafka.server.ReplicaManager;
import kafka.server.metadata.KRaftMetadataCache;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.FetchRequest;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.server.common.KRaftVersion;
import org.apache.kafka.server.purgatory.TopicPartitionOperationKey;
import org.apache.kafka.server.storage.log.FetchPartitionData;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;
import scala.Tuple2;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.BoxedUnit;

/** A broker: its ReplicaManager with logs in a folder of its own, its metadata cache, and its AlterPartitionManager. */
final class Broker {
    static final long NOW_MS = 1_000_000_000L;
    static final long LAG_MS = 30_000;
    static final int ONE_BATCH = 1;

    final int id;
    final long brokerEpoch;
    final Path folder;
    final ControllerChannel channel = new ControllerChannel();
    final Map<Integer, Fetcher> fetchers = new TreeMap<>();
    private final Map<Integer, UnnotedFetch> unnoted = new TreeMap<>();
    private final TopicIdPartition topicIdPartition;
    private final TopicPartition topicPartition;
    private final KRaftMetadataCache metadataCache;
    private final LogManager logManager;
    private final ReplicaManager replicaManager;
    private final QuotaFactory.QuotaManagers quotas;
    private MetadataImage image = MetadataImage.EMPTY;
    private int published = -1;
    final Directories directories;
    Movers movers;
    private final ObjectNode before;
    private ObjectNode stopped = null;
    private boolean loaded = false;
    private boolean closed = false;

    /**
     * Starts a broker. The broker loads its logs when it first publishes metadata. Until then, `before` says what is on
     * its disk (see `stopped`). At the first start of the broker, `before` is null.
     */
    Broker(int id, long brokerEpoch, Cluster cluster, Path folder, ObjectNode before) throws Exception {
        this.id = id;
        this.brokerEpoch = brokerEpoch;
        this.folder = folder;
        this.before = before;
        this.topicIdPartition = cluster.partition;
        this.topicPartition = cluster.partition();
        this.directories = new Directories(id, folder);
        KafkaConfig config = new KafkaConfig(settings(), false);
        Metrics metrics = new Metrics();
        LogDirFailureChannel failures = new LogDirFailureChannel(1);
        BrokerTopicStats stats = new BrokerTopicStats(false);
        metadataCache = new KRaftMetadataCache(id, () -> KRaftVersion.KRAFT_VERSION_1);
        quotas = Managers.quotas(config, metrics, cluster.time);
        logManager = Differences.logManager(config, metadataCache, cluster.time, stats, failures);
        replicaManager = Managers.replicaManager(this, cluster, config, metrics, logManager, quotas, metadataCache,
            failures, Differences.alterPartitionManager(channel, cluster.time, id, brokerEpoch), stats);
    }

    private Properties settings() {
        Properties found = new Properties();
        found.put("process.roles", "broker");
        found.put("node.id", String.valueOf(id));
        found.put("controller.quorum.voters", "100@localhost:9999");
        found.put("controller.listener.names", "CONTROLLER");
        found.put("listeners", "PLAINTEXT://localhost:" + (9092 + id));
        found.put("listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT");
        found.put("log.dirs", directories.online());
        found.put("metadata.log.dir", folder.resolve("metadata").toString());
        found.put("replica.lag.time.max.ms", String.valueOf(LAG_MS));
        found.put("replica.fetch.backoff.ms", "0"); // Time stands still, so a backoff would not end.
        found.put("log.cleaner.enable", "false"); // The cleaner is a thread, and the topic is not compacted.
        return found;
    }

    Partition partition() {
        return replicaManager.getPartitionOrException(topicPartition);
    }

    private Optional<Partition> online() {
        return Optional.ofNullable(replicaManager.onlinePartition(topicPartition).getOrElse(() -> null));
    }

    Fetcher fetcher(int leader) {
        Fetcher found = fetchers.get(leader);
        if (found == null) {
            throw new IllegalStateException("broker " + id + " has no fetcher for broker " + leader);
        }
        return found;
    }

    // --- metadata ----------------------------------------------------------------------------------------------------

    private void load(boolean removesStrays) throws Exception {
        if (!loaded) {
            loaded = true;
            Differences.load(logManager, metadataCache, id, removesStrays ? image : null);
        }
    }

    /**
     * Publishes batches as BrokerMetadataPublisher does: in the cache first, then in the partition, then in the
     * configuration of the topic. Then late answers to fetches arrive.
     */
    JsonNode publish(Cluster cluster, int batch) throws Exception {
        if (batch <= published) {
            return JsonNodeFactory.instance.objectNode().put("refused", "batch " + batch + " is published already");
        }
        Cluster.Step step = cluster.image(image, published + 1, batch);
        image = step.image();
        published = batch;
        metadataCache.setImage(image);
        load(true);
        if (step.delta().topicsDelta() != null) {
            replicaManager.applyDelta(step.delta().topicsDelta(), image);
        }
        ConfigResource topic = new ConfigResource(ConfigResource.Type.TOPIC, topicPartition.topic());
        if (step.delta().configsDelta() != null && step.delta().configsDelta().changes().containsKey(topic)) {
            Signatures.updateTopicConfig(logManager, topic, image);
        }
        fetchers.values().forEach(Fetcher::arriveLate);
        return JsonNodeFactory.instance.objectNode();
    }

    // --- clients and followers ---------------------------------------------------------------------------------------

    JsonNode produce(Cluster cluster, int record) {
        AtomicReference<Errors> refusal = new AtomicReference<>(null);
        cluster.producers.put(record, new Cluster.Told(id, null, true));
        Managers.append(replicaManager, topicIdPartition, Logs.record(record), error -> {
            cluster.producers.put(record, new Cluster.Told(id, error, false));
            refusal.set(error);
        });
        replicaManager.tryCompleteActions(); // The request handler does this after each request.
        ObjectNode found = JsonNodeFactory.instance.objectNode();
        Errors error = refusal.get();
        return error == null || error == Errors.NONE ? found : found.put("refused", error.name());
    }

    /** Handles a follower's fetch immediately. The answer has a copy of at most one batch. */
    FetchResponseData.PartitionData handleFetch(int follower, long epoch, FetchRequest.PartitionData asked) {
        AtomicReference<FetchPartitionData> said = new AtomicReference<>(null);
        replicaManager.fetchMessages(Managers.fetchParams(follower, epoch), CollectionConverters.asScala(
            List.of(new Tuple2<>(topicIdPartition, asked))).toSeq(), Signatures.noQuota(), answers -> {
                said.set(answers.head()._2());
                return BoxedUnit.UNIT;
            });
        online().ifPresent(found -> FollowerTime.forgetFetch(found, follower));
        FetchPartitionData found = said.get();
        FetchResponseData.PartitionData answer = new FetchResponseData.PartitionData()
            .setPartitionIndex(topicPartition.partition())
            .setErrorCode(found.error.code()).setHighWatermark(found.highWatermark)
            .setLogStartOffset(found.logStartOffset);
        try {
            answer.setRecords(Logs.copied(found.records));
        } catch (Exception fault) {
            throw new IllegalStateException(fault);
        }
        found.divergingEpoch.ifPresent(answer::setDivergingEpoch);
        return answer;
    }

    /** Reads for a follower's fetch, with the follower's current broker epoch, and does not note the fetch yet. */
    JsonNode readFetch(Cluster cluster, int follower) throws InterruptedException {
        ObjectNode found = JsonNodeFactory.instance.objectNode();
        Broker asking = cluster.brokers.get(follower);
        FetchRequest.PartitionData asked = asking.fetcher(id).question();
        if (asked == null || unnoted.containsKey(follower)) {
            return found.put("refused", "the fetcher has nothing to ask for");
        }
        UnnotedFetch fetch = new UnnotedFetch(() -> handleFetch(follower, asking.brokerEpoch, asked));
        if (!fetch.read()) {
            return found.put("refused", "the fetch is not noted at all");
        }
        unnoted.put(follower, fetch);
        return found;
    }

    JsonNode noteFetch(int follower) throws InterruptedException {
        UnnotedFetch fetch = unnoted.remove(follower);
        if (fetch == null) {
            return JsonNodeFactory.instance.objectNode().put("refused", "there is no fetch to be noted");
        }
        fetch.note();
        return JsonNodeFactory.instance.objectNode();
    }

    // --- the ISR -----------------------------------------------------------------------------------------------------

    JsonNode shrinkIsr() {
        partition().maybeShrinkIsr();
        return JsonNodeFactory.instance.objectNode();
    }

    JsonNode lag(int follower) {
        FollowerTime.forgetCaughtUp(partition(), follower);
        return JsonNodeFactory.instance.objectNode();
    }

    // --- directories -------------------------------------------------------------------------------------------------

    /** Makes the directory with the log fail. */
    JsonNode failDirectory() throws Exception {
        ObjectNode found = JsonNodeFactory.instance.objectNode();
        Optional<Path> holding = directory();
        if (holding.isEmpty()) {
            return found.put("refused", "there is no log in a directory that could fail");
        }
        replicaManager.handleLogDirFailure(holding.get().toString(), true);
        Differences.forgetLock(logManager, holding.get());
        directories.fail(holding.get());
        // Kafka next looks at waiting producers when their requests time out. Time stands still, so this is done now.
        replicaManager.delayedProducePurgatory().checkAndComplete(
            new TopicPartitionOperationKey(topicPartition.topic(), topicPartition.partition()));
        replicaManager.tryCompleteActions();
        return found;
    }

    JsonNode moveLog() {
        return movers.move(topicPartition, directories.another(directory().orElseThrow()));
    }

    /** The directory that has the log. */
    private Optional<Path> directory() {
        return log().map(x -> Path.of(x.parentDirectory()));
    }

    Optional<Uuid> directoryId() {
        return directory().map(directories::id);
    }

    /** The broker epoch in the files of a clean shutdown, as BrokerServer reads it; -1 if they have none. */
    long previousBrokerEpoch() {
        return logManager.readBrokerEpochFromCleanShutdownFiles().orElse(-1);
    }

    // --- stopping ----------------------------------------------------------------------------------------------------

    JsonNode beginShutdown() {
        replicaManager.beginControlledShutdown();
        return JsonNodeFactory.instance.objectNode();
    }

    /**
     * Stops the broker. If `clean` is false, no file says that the stop was clean, so the log is recovered at the next
     * start. If `kept` is given, the log loses its records from this offset on. If `on_disk` is given, it is the high
     * watermark on disk.
     */
    JsonNode stop(JsonNode command) throws Exception {
        if (command.hasNonNull("kept")) {
            load(false); // Records on disk may also be lost if the broker has not loaded its logs yet.
        }
        Optional<Log> log = log();
        replicaManager.checkpointHighWatermarks();
        if (log.isPresent() && command.hasNonNull("kept")) {
            log.get().truncateTo(command.get("kept").asLong());
        }
        if (log.isPresent() && command.hasNonNull("on_disk")) {
            Signatures.writeHighWatermark(directory().get(), topicPartition, command.get("on_disk").asLong());
        }
        stopped = onDisk();
        close();
        if (!command.get("clean").asBoolean()) {
            directories.forgetCleanShutdown();
        }
        return JsonNodeFactory.instance.objectNode();
    }

    /** The log, epoch cache and high watermark on disk when the broker stopped; null while the broker runs. */
    ObjectNode stopped() {
        return stopped;
    }

    void close() throws Exception {
        if (!closed) {
            closed = true;
            for (UnnotedFetch fetch : unnoted.values()) {
                fetch.abandon();
            }
            unnoted.clear();
            replicaManager.shutdown(false);
            quotas.shutdown();
            logManager.shutdown(brokerEpoch);
        }
    }

    // --- read back ---------------------------------------------------------------------------------------------------

    private Optional<Log> log() {
        return Log.of(logManager, topicPartition);
    }

    /** The log, epoch cache and high watermark on the disk of a broker that neither leads nor follows. */
    private ObjectNode onDisk() throws Exception {
        ObjectNode found = loaded || before == null ? JsonNodeFactory.instance.objectNode() : before.deepCopy();
        if (loaded || before == null) {
            writeLog(found, log());
        }
        Optional<Path> holding = directory();
        if (holding.isEmpty()) {
            return found.has("high_watermark") ? found : found.put("high_watermark", 0);
        }
        Long known = found.get("log").isEmpty() ? null : Signatures.highWatermark(holding.get(), topicPartition);
        return found.put("high_watermark", known == null ? 0 : Math.min(known, found.get("log").size()));
    }

    private static void writeLog(ObjectNode found, Optional<Log> log) throws Exception {
        ArrayNode records = found.putArray("log");
        ArrayNode epochs = found.putArray("epoch_cache");
        if (log.isPresent()) {
            Logs.records(log.get().records()).forEach(records::add);
            log.get().epochs().forEach((epoch, start) -> epochs.addArray().add(epoch).add(start));
        }
    }

    ObjectNode state(Cluster cluster) throws Exception {
        if (stopped != null) {
            return stopped.deepCopy().put("role", "none").put("up", false).put("published", published);
        }
        Optional<Partition> partition = online();
        ObjectNode found = partition.isPresent() ? JsonNodeFactory.instance.objectNode() : onDisk();
        found.put("up", true).put("published", published).put("broker_epoch", brokerEpoch);
        directoryId().ifPresent(x -> found.put("directory", x.toString()));
        found.set("image", Images.written(cluster, image));
        found.set("alteration", channel.state());
        ObjectNode answers = found.putObject("answers");
        ArrayNode reads = found.putArray("has_read_for");
        unnoted.keySet().forEach(reads::add);
        ArrayNode fetches = found.putArray("fetches_from");
        fetchers.forEach((leader, fetcher) -> {
            answers.set(String.valueOf(leader), fetcher.state());
            if (fetcher.follows()) {
                fetches.add(leader);
            }
        });
        if (partition.isEmpty()) {
            return found.put("role", "none");
        }
        writePartition(found, partition.get());
        return found;
    }

    private void writePartition(ObjectNode found, Partition partition) throws Exception {
        Log log = Log.of(partition);
        writeLog(found, Optional.of(log));
        boolean leads = partition.isLeader();
        found.put("role", leads ? "leader" : "follower").put("epoch", partition.getLeaderEpoch())
            .put("version", partition.getPartitionEpoch()).put("high_watermark", log.highWatermark());
        if (leads) {
            found.put("epoch_start", (Long) partition.leaderEpochStartOffsetOpt().get());
            Managers.writeIsr(found, partition);
            Managers.writeFollowers(found.putObject("followers"), partition);
        }
    }
}
