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

/** Storm's Kafka spout, which tells all counters besides how far event time has come in each partition, in steps of 1 s. */
final class TimedSpout extends KafkaSpout<byte[], byte[]> {
    static final String TIMES = "times";
    private static final long serialVersionUID = 1;
    private static final long STEP_MS = 1000;
    private final int partitions;

    TimedSpout(KafkaSpoutConfig<byte[], byte[]> config, int partitions) {
        super(config);
        this.partitions = partitions;
    }

    @Override
    public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector collector) {
        super.open(conf, context, new SpoutOutputCollector(new Timed(collector, partitions)));
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

        Timed(SpoutOutputCollector inner, int partitions) {
            this.inner = inner;
            told = new long[partitions];
        }

        @Override
        public List<Integer> emit(String stream, List<Object> tuple, Object id) {
            List<Integer> tasks = inner.emit(stream, tuple, id);
            long time = (Long) tuple.get(1);
            int partition = (Integer) tuple.get(2);
            if (time >= told[partition] + STEP_MS) {
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
