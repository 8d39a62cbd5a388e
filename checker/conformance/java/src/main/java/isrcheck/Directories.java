package isrcheck;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.common.Uuid;

/** The log directories of a broker, with their ids. The directories that have failed are marked. */
final class Directories {
    private final TreeMap<Path, Uuid> ids = new TreeMap<>();
    private final TreeSet<Path> failed = new TreeSet<>();

    /** Creates the directories if the folder does not exist. Otherwise takes the directories in the folder. */
    Directories(int broker, Path folder) throws IOException {
        if (!Files.exists(folder)) {
            Files.createDirectories(folder);
            for (Uuid id : Images.directories(broker)) {
                format(folder.resolve(String.valueOf(id.getLeastSignificantBits())), broker, id);
            }
        }
        try (Stream<Path> found = Files.list(folder)) {
            found.forEach(path -> ids.put(path.toAbsolutePath(),
                new Uuid(broker + 1, Long.parseLong(path.getFileName().toString()))));
        }
    }

    private static void format(Path directory, int broker, Uuid id) throws IOException {
        Files.createDirectory(directory);
        Files.writeString(directory.resolve("meta.properties"), "version=1\ncluster.id=isrcheck\nnode.id=" + broker
            + "\ndirectory.id=" + id + "\n");
    }

    String online() {
        return ids.keySet().stream().filter(x -> !failed.contains(x)).map(Path::toString)
            .collect(Collectors.joining(","));
    }

    List<Uuid> onlineIds() {
        return ids.keySet().stream().filter(x -> !failed.contains(x)).map(ids::get).toList();
    }

    List<Uuid> failedIds() {
        return failed.stream().map(ids::get).toList();
    }

    /** A directory other than `directory` that has not failed. */
    Path another(Path directory) {
        return ids.keySet().stream().filter(x -> !x.equals(directory) && !failed.contains(x)).findFirst().orElseThrow();
    }

    Uuid id(Path directory) {
        return ids.get(directory);
    }

    void fail(Path directory) {
        failed.add(directory);
    }

    /** Removes failed directories before a broker starts again. With `byEmpty`, a new one takes the place of each. */
    void replaceFailed(int broker, boolean byEmpty) throws IOException {
        for (Path directory : failed) {
            delete(directory);
            if (byEmpty) {
                long number = ids.get(directory).getLeastSignificantBits() + Images.DIRECTORIES;
                format(directory.resolveSibling(String.valueOf(number)), broker, new Uuid(broker + 1, number));
            }
        }
        failed.clear();
    }

    /** Removes the files of a clean shutdown. Then logs are recovered from their start, as after a crash. */
    void forgetCleanShutdown() throws IOException {
        for (Path directory : ids.keySet()) {
            Files.deleteIfExists(directory.resolve(".kafka_cleanshutdown"));
            Files.deleteIfExists(directory.resolve("recovery-point-offset-checkpoint"));
        }
    }

    static void delete(Path folder) throws IOException {
        if (Files.exists(folder)) {
            try (Stream<Path> found = Files.walk(folder)) {
                for (Path path : found.sorted(Comparator.reverseOrder()).toList()) {
                    Files.delete(path);
                }
            }
        }
    }
}
