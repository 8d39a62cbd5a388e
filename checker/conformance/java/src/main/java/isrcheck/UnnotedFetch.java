package isrcheck;

import java.util.concurrent.CountDownLatch;
import org.apache.kafka.server.util.timer.Timer;

/**
 * A fetch for which a leader has read, in a thread of its own that waits where Partition.updateFollowerFetchState
 * begins: it asks there for the number of delayed DeleteRecords, and holds no lock.
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
                // Its leader has stopped.
            } finally {
                waitsOrEnds.countDown();
            }
        });
    }

    /** Reads; whether there is anything to be noted. */
    boolean read() throws InterruptedException {
        thread.start();
        waitsOrEnds.await();
        return waits;
    }

    void note() throws InterruptedException {
        goesOn.countDown();
        thread.join();
    }

    /** It is never noted: who has read has stopped. */
    void abandon() throws InterruptedException {
        abandoned = true;
        note();
    }

    private void pause() {
        if (waits) {
            return; // It is asked for that number once more.
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

    /** The timer of the purgatory that is asked: it has as many as are delayed. */
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
