import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.storm.Constants;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Tuple;

/**
 * Counts by key and window for a moment, writes these counts to a file of their own, and acknowledges their tuples only
 * then. So nothing is lost with a worker, and what was written but not acknowledged is counted twice: at least once.
 */
final class FileCounter extends BaseRichBolt {
    private static final long serialVersionUID = 1;
    private static final long FLUSH_NS = TimeUnit.MILLISECONDS.toNanos(100);
    private final Job job;
    private transient OutputCollector collector;
    private transient String prefix;
    private transient Map<Long, Map<String, long[]>> windows;
    private transient List<Tuple> waiting;
    private transient long dueNs;

    FileCounter(Job job) {
        this.job = job;
    }

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
        this.collector = collector;
        prefix = "part-" + context.getThisTaskId() + "-" + ProcessHandle.current().pid() + "-";
        windows = new HashMap<>();
        waiting = new ArrayList<>();
        dueNs = System.nanoTime() + FLUSH_NS;
    }

    @Override
    public void execute(Tuple tuple) {
        if (tuple.getSourceStreamId().equals(Constants.SYSTEM_TICK_STREAM_ID)) {
            collector.ack(tuple);
        } else {
            long time = tuple.getLong(1);
            windows.computeIfAbsent(time - time % job.windowMs, unused -> new HashMap<>())
                .computeIfAbsent(tuple.getString(0), unused -> new long[1])[0]++;
            waiting.add(tuple);
        }
        if (!waiting.isEmpty() && System.nanoTime() - dueNs > 0) {
            flush();
            dueNs = System.nanoTime() + FLUSH_NS;
        }
    }

    private void flush() {
        StringBuilder text = new StringBuilder();
        windows.forEach((start, counts) -> counts.forEach((key, count) ->
            text.append(start).append(',').append(key).append(',').append(count[0]).append('\n')));
        try {
            Job.appear(Path.of(job.out, prefix + System.nanoTime() + ".csv"), text.toString());
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        windows.clear();
        waiting.forEach(collector::ack);
        waiting.clear();
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        // Nothing goes on from here.
    }
}
