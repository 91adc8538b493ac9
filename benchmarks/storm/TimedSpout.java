import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.storm.kafka.spout.KafkaSpout;
import org.apache.storm.kafka.spout.KafkaSpoutConfig;
import org.apache.storm.spout.ISpoutOutputCollector;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.tuple.Fields;

/** Storm's Kafka spout, which tells all counters besides how far event time has come in each partition, in steps of a 60th of a window. */
final class TimedSpout extends KafkaSpout<byte[], byte[]> {
    static final String TIMES = "times";
    private static final long serialVersionUID = 1;
    private final int partitions;
    private final long stepMs;

    TimedSpout(KafkaSpoutConfig<byte[], byte[]> config, Job job) {
        super(config);
        partitions = job.partitions;
        stepMs = job.windowMs / 60;
    }

    @Override
    public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector collector) {
        super.open(conf, context, new SpoutOutputCollector(new Timed(collector, partitions, stepMs)));
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        super.declareOutputFields(declarer);
        declarer.declareStream(TIMES, new Fields("partition", "time"));
    }

    /** Passes all on, and tells the time behind the tuple that moved it. */
    private static final class Timed implements ISpoutOutputCollector {
        private final SpoutOutputCollector inner;
        private final long[] told;
        private final long stepMs;

        Timed(SpoutOutputCollector inner, int partitions, long stepMs) {
            this.stepMs = stepMs;
            this.inner = inner;
            told = new long[partitions];
        }

        @Override
        public List<Integer> emit(String stream, List<Object> tuple, Object id) {
            List<Integer> tasks = inner.emit(stream, tuple, id);
            long time = (Long) tuple.get(1);
            int partition = (Integer) tuple.get(2);
            if (time >= told[partition] + stepMs) {
                told[partition] = time;
                inner.emit(TIMES, Arrays.asList((Object) partition, time));
            }
            return tasks;
        }

        @Override
        public void emitDirect(int task, String stream, List<Object> tuple, Object id) {
            inner.emitDirect(task, stream, tuple, id);
        }

        @Override
        public void reportError(Throwable error) {
            inner.reportError(error);
        }

        @Override
        public long getPendingCount() {
            return inner.getPendingCount();
        }

        @Override
        public void flush() {
            inner.flush();
        }
    }
}
