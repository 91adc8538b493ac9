import java.io.IOException;
import java.io.Reader;
import java.io.Serializable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Properties;

/** A query over a topic, as benchmarks/contenders/protocol.py hands it over. */
final class Job implements Serializable {
    private static final long serialVersionUID = 1;
    private static final long POLL_MS = 10;

    final int number;
    final String kafka;
    final String topic;
    final int partitions;
    final long messages;
    final long unitMs;
    final long windowMs;
    final long watermarkMs;
    final long lastWindowMs;
    final String out;

    private Job(Properties values) {
        number = Integer.parseInt(values.getProperty("number"));
        kafka = values.getProperty("kafka");
        topic = values.getProperty("topic");
        partitions = Integer.parseInt(values.getProperty("partitions"));
        messages = Long.parseLong(values.getProperty("messages"));
        unitMs = Long.parseLong(values.getProperty("unit_ms"));
        windowMs = Long.parseLong(values.getProperty("window_ms"));
        watermarkMs = Long.parseLong(values.getProperty("watermark_ms"));
        lastWindowMs = Long.parseLong(values.getProperty("last_window_ms"));
        out = values.getProperty("out");
    }

    /** Waits for the job of this number. */
    static Job take(Path folder, int number) throws IOException, InterruptedException {
        Path file = folder.resolve("job-" + number + ".properties");
        while (!Files.exists(file)) {
            Thread.sleep(POLL_MS);
        }
        Properties values = new Properties();
        try (Reader reader = Files.newBufferedReader(file)) {
            values.load(reader);
        }
        return new Job(values);
    }

    /** Makes a file that others see whole or not at all. */
    static void appear(Path file, String text) throws IOException {
        Path draft = file.resolveSibling("." + file.getFileName());
        Files.writeString(draft, text);
        Files.move(draft, file, StandardCopyOption.ATOMIC_MOVE);
    }
}
