import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import org.apache.storm.Config;
import org.apache.storm.StormSubmitter;
import org.apache.storm.kafka.spout.FirstPollOffsetStrategy;
import org.apache.storm.kafka.spout.KafkaSpout;
import org.apache.storm.kafka.spout.KafkaSpoutConfig;
import org.apache.storm.kafka.spout.KafkaSpoutConfig.ProcessingGuarantee;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;

/**
 * Submits a job to a Storm cluster, at least once, and ends. Arguments: the folder of the job, its number, and a file of
 * settings, which benchmarks/clusters/storm.py writes and explains.
 */
public final class OnNodes {
    private static final int COMMIT_MS = 500;

    private OnNodes() {
    }

    public static void main(String[] arguments) throws Exception {
        Job job = Job.take(Path.of(arguments[0]), Integer.parseInt(arguments[1]));
        Properties settings = new Properties();
        try (var reader = Files.newBufferedReader(Path.of(arguments[2]))) {
            settings.load(reader);
        }
        Config config = new Config();
        settings.forEach((name, value) -> {
            if (name.toString().startsWith("topology.")) {
                config.put(name.toString(), SideBySide.parsed(value.toString()));
            }
        });
        int nodes = Integer.parseInt(settings.getProperty("nodes"));
        config.setNumWorkers(nodes);
        config.setNumAckers(nodes);
        KafkaSpoutConfig<byte[], byte[]> spout = new KafkaSpoutConfig.Builder<byte[], byte[]>(job.kafka, job.topic)
            .setProp(SideBySide.consumer(settings))
            .setGroupId("storm-" + job.number)
            .setFirstPollOffsetStrategy(FirstPollOffsetStrategy.UNCOMMITTED_EARLIEST)
            .setProcessingGuarantee(ProcessingGuarantee.AT_LEAST_ONCE)
            .setRecordTranslator(new Line(job.unitMs))
            .setOffsetCommitPeriodMs(COMMIT_MS)
            .setMaxUncommittedOffsets(100_000)
            .build();
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("lines", new KafkaSpout<>(spout), nodes);
        builder.setBolt("counts", new FileCounter(job), nodes).fieldsGrouping("lines", new Fields("key"))
            .addConfiguration(Config.TOPOLOGY_TICK_TUPLE_FREQ_SECS, 1);
        StormSubmitter.submitTopology("job-" + job.number, config, builder.createTopology());
    }
}
