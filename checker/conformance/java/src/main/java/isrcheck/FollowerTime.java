package isrcheck;

import java.lang.reflect.Field;
import java.util.concurrent.atomic.AtomicReference;
import kafka.cluster.Partition;
import org.apache.kafka.server.replica.Replica;
import org.apache.kafka.server.replica.ReplicaState;

/** Lets time pass for one follower only. */
final class FollowerTime {
    private FollowerTime() { }

    /** Sets the time of the follower's last fetch to 0. Then this fetch does not count when the next one is noted. */
    static void forgetFetch(Partition partition, int follower) {
        change(partition, follower, 0, Broker.NOW_MS);
    }

    /** Makes it longer than replica.lag.time.max.ms since the follower was last caught up. */
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
