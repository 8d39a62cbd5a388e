package isrcheck;

import java.util.concurrent.CountDownLatch;
import org.apache.kafka.server.util.timer.Timer;

/**
 * A fetch for which a leader has read, but which it has not noted yet. The fetch has a thread of its own, which waits
 * at the beginning of Partition.updateFollowerFetchState. There Kafka asks for the number of delayed DeleteRecords, and
 * holds no lock.
 */
final class UnnotedFetch {
    private static final ThreadLocal<UnnotedFetch> MINE = new ThreadLocal<>();

    private final CountDownLatch waitsOrEnds = new CountDownLatch(1);
    private final CountDownLatch goesOn = new CountDownLatch(1);
    private final Thread thread;
    private volatile boolean waits = false;
    private volatile boolean abandoned = false;

    UnnotedFetch(Runnable fetch) {
        thread = new Thread(() -> {
            MINE.set(this);
            try {
                fetch.run();
            } catch (Abandoned expected) {
                // The leader has stopped.
            } finally {
                waitsOrEnds.countDown();
            }
        });
    }

    /** Reads for the fetch. Returns whether the fetch is still to be noted. */
    boolean read() throws InterruptedException {
        thread.start();
        waitsOrEnds.await();
        return waits;
    }

    void note() throws InterruptedException {
        goesOn.countDown();
        thread.join();
    }

    /** Ends the thread without noting the fetch, because the leader stops. */
    void abandon() throws InterruptedException {
        abandoned = true;
        note();
    }

    private void pause() {
        if (waits) {
            return; // Kafka asks for the number a second time.
        }
        waits = true;
        waitsOrEnds.countDown();
        try {
            goesOn.await();
        } catch (InterruptedException fault) {
            throw new IllegalStateException(fault);
        }
        if (abandoned) {
            throw new Abandoned();
        }
    }

    private static final class Abandoned extends RuntimeException { }

    /** The timer for delayed DeleteRecords. When Kafka asks for their number, the thread of an unnoted fetch waits. */
    static Timer timer() {
        return new Clock.Nothing() {
            @Override
            public int size() {
                UnnotedFetch fetch = MINE.get();
                if (fetch != null) {
                    fetch.pause();
                }
                return super.size();
            }
        };
    }
}
