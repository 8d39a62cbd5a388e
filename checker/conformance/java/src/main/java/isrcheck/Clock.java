package isrcheck;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Delayed;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.server.util.timer.Timer;
import org.apache.kafka.server.util.timer.TimerTask;

/** A clock that moves only when somebody sleeps. Tasks that are scheduled for later, or put on a timer, never run. */
public final class Clock implements Time {
    public final Scheduler scheduler = new Now();
    private long milliseconds;
    private long nanoseconds;

    public Clock(long milliseconds, long nanoseconds) {
        this.milliseconds = milliseconds;
        this.nanoseconds = nanoseconds;
    }

    @Override
    public long milliseconds() {
        return milliseconds;
    }

    @Override
    public long nanoseconds() {
        return nanoseconds;
    }

    @Override
    public void sleep(long ms) {
        milliseconds += ms;
        nanoseconds += TimeUnit.MILLISECONDS.toNanos(ms);
    }

    @Override
    public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs) {
        throw new UnsupportedOperationException("all is of one thread, so nobody can wait for another");
    }

    /** Runs a task immediately if it is scheduled for now, and never otherwise. */
    private static final class Now implements Scheduler {
        @Override
        public void startup() { }

        @Override
        public void shutdown() { }

        @Override
        public ScheduledFuture<?> schedule(String name, Runnable task, long delayMs, long periodMs) {
            if (delayMs <= 0) {
                task.run();
            }
            return new Never();
        }

        @Override
        public void resizeThreadPool(int threads) { }
    }

    private static final class Never extends CompletableFuture<Void> implements ScheduledFuture<Void> {
        @Override
        public long getDelay(TimeUnit unit) {
            return Long.MAX_VALUE;
        }

        @Override
        public int compareTo(Delayed other) {
            return Long.compare(getDelay(TimeUnit.NANOSECONDS), other.getDelay(TimeUnit.NANOSECONDS));
        }
    }

    /** A timer whose tasks never run. */
    static class Nothing implements Timer {
        @Override
        public void add(TimerTask task) { }

        @Override
        public boolean advanceClock(long timeoutMs) {
            return false;
        }

        @Override
        public int size() {
            return 0;
        }

        @Override
        public void close() { }
    }
}
