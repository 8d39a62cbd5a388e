package cluster;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Writes to one partition with producers of the default configuration (acks=all, idempotent, retries), and keeps
 * the result that they got for each record. Reads the partition with a consumer. */
final class Writer implements AutoCloseable {
    private final String servers;
    private final TopicPartition partition;
    private final List<KafkaProducer<String, String>> producers = new ArrayList<>();
    private final Map<String, String> told = new ConcurrentHashMap<>();
    private volatile Thread load;

    Writer(String servers, TopicPartition partition) {
        this.servers = servers;
        this.partition = partition;
        addProducer();
    }

    /** Adds a producer, which sends all later records, because unanswered requests block the old connections. */
    void addProducer() {
        producers.add(new KafkaProducer<>(
            Map.of("bootstrap.servers", servers), new StringSerializer(), new StringSerializer()));
    }

    void send(String value) {
        producers.get(producers.size() - 1).send(new ProducerRecord<>(partition.topic(), partition.partition(), null, value),
            (metadata, error) -> {
                synchronized (told) {
                    told.put(value, error == null ? "acknowledged" : error.toString());
                    told.notifyAll();
                }
            });
    }

    /** Sends one record in each interval. The records are named by a prefix and their number. */
    void load(String prefix, long milliseconds) {
        load = new Thread(() -> {
            for (int i = 0; load != null; i++) {
                send(prefix + i);
                try {
                    Thread.sleep(milliseconds);
                } catch (InterruptedException end) {
                    return;
                }
            }
        });
        load.start();
    }

    void stop() throws InterruptedException {
        Thread last = load;
        if (last != null) {
            load = null;
            last.join();
        }
    }

    /** Waits until the producer has the result for a record, and returns it; "" if there is none in time. */
    String awaited(String value, long milliseconds) throws InterruptedException {
        long until = System.currentTimeMillis() + milliseconds;
        synchronized (told) {
            while (!told.containsKey(value)) {
                long left = until - System.currentTimeMillis();
                if (left <= 0) {
                    return "";
                }
                told.wait(left);
            }
        }
        return told.get(value);
    }

    Map<String, String> told() {
        synchronized (told) {
            return Map.copyOf(told);
        }
    }

    /** The records that a consumer reads, up to the end offset that it gets at the start. */
    List<String> read() {
        List<String> found = new ArrayList<>();
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(
                Map.of("bootstrap.servers", servers), new StringDeserializer(), new StringDeserializer())) {
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            long end = consumer.endOffsets(List.of(partition)).get(partition);
            while (consumer.position(partition) < end) {
                consumer.poll(Duration.ofMillis(200)).forEach(each -> found.add(each.value()));
            }
        }
        return found;
    }

    @Override
    public void close() throws InterruptedException {
        stop();
        producers.forEach(each -> each.close(Duration.ZERO));
    }
}
