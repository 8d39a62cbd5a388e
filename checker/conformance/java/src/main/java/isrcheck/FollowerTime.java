package isrcheck;

import java.lang.reflect.Field;
import java.util.concurrent.atomic.AtomicReference;
import kafka.cluster.Partition;
import org.apache.kafka.server.replica.Replica;
import org.apache.kafka.server.replica.ReplicaState;

/** Time that goes by for one follower alone. */
final class FollowerTime {
    private FollowerTime() { }

    /** As if so much time went by before the next fetch that this one does not count then. */
    static void forgetFetch(Partition partition, int follower) {
        change(partition, follower, 0, Broker.NOW_MS);
    }

    /** As if replica.lag.time.max.ms had gone by since a follower was caught up. */
    static void forgetCaughtUp(Partition partition, int follower) {
        change(partition, follower, 0, 0);
    }

    private static void change(Partition partition, int follower, long fetchTime, long latestCaughtUpTime) {
        Replica replica = partition.getReplica(follower).getOrElse(() -> null);
        if (replica == null) {
            return;
        }
        try {
            Field field = Replica.class.getDeclaredField("replicaState");
            field.setAccessible(true);
            @SuppressWarnings("unchecked")
            AtomicReference<ReplicaState> held = (AtomicReference<ReplicaState>) field.get(replica);
            held.updateAndGet(x -> new ReplicaState(x.logStartOffset(), x.logEndOffsetMetadata(),
                x.lastFetchLeaderLogEndOffset(), fetchTime, Math.min(x.lastCaughtUpTimeMs(), latestCaughtUpTime),
                x.brokerEpoch()));
        } catch (ReflectiveOperationException fault) {
            throw new IllegalStateException(fault);
        }
    }
}
