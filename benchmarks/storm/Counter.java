import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Tuple;

/** Counts by key and window; writes a window to a file of its own when the times of all partitions have passed it. */
final class Counter extends BaseRichBolt {
    /** How many counters have written the last window of the job; all of them live in this process. */
    static final AtomicInteger FINISHED = new AtomicInteger();

    private static final long serialVersionUID = 1;
    private final Job job;
    private transient OutputCollector collector;
    private transient int task;
    private transient long[] times;
    private transient long watermark;
    private transient long currentStart;
    private transient Map<String, long[]> current;
    private transient TreeMap<Long, Map<String, long[]>> windows;
    private transient boolean finished;

    Counter(Job job) {
        this.job = job;
    }

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
        this.collector = collector;
        task = context.getThisTaskId();
        times = new long[job.partitions];
        Arrays.fill(times, Long.MIN_VALUE);
        watermark = Long.MIN_VALUE;
        currentStart = Long.MIN_VALUE;
        windows = new TreeMap<>();
    }

    @Override
    public void execute(Tuple tuple) {
        if (tuple.getSourceStreamId().equals(TimedSpout.TIMES)) {
            advance(tuple.getInteger(0), tuple.getLong(1));
        } else {
            long time = tuple.getLong(1);
            long start = time - time % job.windowMs;
            if (start != currentStart) {
                currentStart = start;
                current = windows.computeIfAbsent(start, unused -> new HashMap<>());
            }
            long[] count = current.get(tuple.getString(0));
            if (count == null) {
                current.put(tuple.getString(0), new long[] {1});
            } else {
                count[0]++;
            }
        }
        collector.ack(tuple);
    }

    private void advance(int partition, long time) {
        times[partition] = Math.max(times[partition], time);
        long least = Arrays.stream(times).min().getAsLong();
        if (least == Long.MIN_VALUE) {
            return;
        }
        watermark = Math.max(watermark, least - job.watermarkMs);
        while (!windows.isEmpty() && windows.firstKey() + job.windowMs <= watermark) {
            write(windows.firstKey(), windows.remove(windows.firstKey()));
            currentStart = Long.MIN_VALUE;
        }
        if (watermark >= job.lastWindowMs + job.windowMs && !finished) {
            finished = true;
            FINISHED.incrementAndGet();
        }
    }

    private void write(long start, Map<String, long[]> counts) {
        StringBuilder text = new StringBuilder();
        counts.forEach((key, count) -> text.append(start).append(',').append(key).append(',').append(count[0]).append('\n'));
        try {
            // A late tuple may open a window again, so a name is never used twice.
            Job.appear(Path.of(job.out, "part-" + task + "-" + start + "-" + System.nanoTime() + ".csv"), text.toString());
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        // Nothing goes on from here.
    }
}
