import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.storm.Config;
import org.apache.storm.LocalCluster;
import org.apache.storm.generated.KillOptions;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.kafka.spout.FirstPollOffsetStrategy;
import org.apache.storm.kafka.spout.KafkaSpoutConfig;
import org.apache.storm.kafka.spout.KafkaSpoutConfig.ProcessingGuarantee;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;

/**
 * Storm's part in the comparison: takes jobs from a folder. Arguments: the folder, "acking" or "unacked", and a file of
 * settings, which benchmarks/contenders/storm.py writes and explains.
 */
public final class SideBySide {
    private static final long POLL_MS = 20;

    private SideBySide() {
    }

    public static void main(String[] arguments) throws Exception {
        Path folder = Path.of(arguments[0]);
        boolean acking = arguments[1].equals("acking");
        Properties settings = new Properties();
        try (var reader = Files.newBufferedReader(Path.of(arguments[2]))) {
            settings.load(reader);
        }
        try {
            // Else up to ten seconds pass between a topology's submission and its start.
            LocalCluster cluster = new LocalCluster.Builder()
                .withDaemonConf(Map.of("nimbus.monitor.freq.secs", 1, "supervisor.monitor.frequency.secs", 1))
                .build();
            Job.appear(folder.resolve("ready"), "");
            for (int number = 0;; number++) {
                run(cluster, Job.take(folder, number), acking, settings);
                Job.appear(folder.resolve("done-" + number), "");
            }
        } catch (Exception error) {
            error.printStackTrace();
            System.exit(1); // the cluster's own threads would go on
        }
    }

    private static void run(LocalCluster cluster, Job job, boolean acking, Properties settings) throws Exception {
        int counters = Integer.parseInt(settings.getProperty("counters"));
        Counter.FINISHED.set(0);
        Config config = new Config();
        settings.forEach((name, value) -> {
            if (name.toString().startsWith("topology.")) {
                config.put(name.toString(), parsed(value.toString()));
            }
        });
        config.setNumAckers(acking ? Integer.parseInt(settings.getProperty("ackers")) : 0);
        String name = "job-" + job.number;
        cluster.submitTopology(name, config, topology(job, acking, counters, settings));
        while (Counter.FINISHED.get() < counters || job.messages == 0) {
            Thread.sleep(POLL_MS);
        }
        KillOptions now = new KillOptions();
        now.set_wait_secs(0);
        cluster.killTopologyWithOpts(name, now);
    }

    private static StormTopology topology(Job job, boolean acking, int counters, Properties settings) {
        KafkaSpoutConfig<byte[], byte[]> spout = new KafkaSpoutConfig.Builder<byte[], byte[]>(job.kafka, job.topic)
            .setProp(consumer(settings))
            .setGroupId("storm-" + job.number + "-" + System.nanoTime())
            .setFirstPollOffsetStrategy(FirstPollOffsetStrategy.EARLIEST)
            .setProcessingGuarantee(acking ? ProcessingGuarantee.AT_LEAST_ONCE : ProcessingGuarantee.NO_GUARANTEE)
            .setRecordTranslator(new Line(job.unitMs))
            .setOffsetCommitPeriodMs(5_000)
            .setMaxUncommittedOffsets(10_000_000)
            .build();
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("lines", new TimedSpout(spout, job), Integer.parseInt(settings.getProperty("spouts")));
        builder.setBolt("counts", new Counter(job), counters)
            .fieldsGrouping("lines", new Fields("key"))
            .allGrouping("lines", TimedSpout.TIMES);
        return builder.createTopology();
    }

    /** The settings of the Kafka consumer. */
    static Properties consumer(Properties settings) {
        Properties consumer = new Properties();
        settings.forEach((name, value) -> {
            if (name.toString().startsWith("kafka.")) {
                consumer.put(name.toString().substring("kafka.".length()), value);
            }
        });
        consumer.put(ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class.getName());
        consumer.put(ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class.getName());
        return consumer;
    }

    /** Numbers as such. */
    static Object parsed(String value) {
        return value.contains(".") ? (Object) Double.valueOf(value) : Integer.valueOf(value);
    }
}
