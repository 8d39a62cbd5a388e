package isrcheck;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.FileRecords;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.record.Records;
import org.apache.kafka.common.record.SimpleRecord;

/** The records of the harness. Each batch has one record, and the value of a record is a number. */
final class Logs {
    private Logs() { }

    static MemoryRecords record(int id) {
        byte[] value = ByteBuffer.allocate(Integer.BYTES).putInt(id).array();
        return MemoryRecords.withRecords(Compression.NONE, new SimpleRecord(Broker.NOW_MS, null, value));
    }

    /** The number of each record, with the leader epoch of the record's batch. */
    static List<ArrayNode> records(Records records) {
        List<ArrayNode> found = new ArrayList<>();
        for (RecordBatch batch : records.batches()) {
            for (Record record : batch) {
                found.add(JsonNodeFactory.instance.arrayNode().add(record.value().getInt(0))
                    .add(batch.partitionLeaderEpoch()));
            }
        }
        return found;
    }

    /** A copy, like the one that the network makes. It keeps records that the leader truncates later. */
    static MemoryRecords copied(Records records) throws Exception {
        if (records instanceof FileRecords file) {
            ByteBuffer buffer = ByteBuffer.allocate(file.sizeInBytes());
            file.readInto(buffer, 0);
            return MemoryRecords.readableRecords(buffer);
        }
        return (MemoryRecords) records;
    }
}
