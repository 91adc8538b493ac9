import java.util.Arrays;
import java.util.List;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.storm.kafka.spout.RecordTranslator;
import org.apache.storm.tuple.Fields;

/** Reads the first three fields of a CSV line: event time, type, sip; the key is the text "sip,type". */
final class Line implements RecordTranslator<byte[], byte[]> {
    static final Fields FIELDS = new Fields("key", "time", "partition");
    private static final long serialVersionUID = 1;
    private final long unitMs;

    Line(long unitMs) {
        this.unitMs = unitMs;
    }

    @Override
    @SuppressWarnings("deprecation") // the constructor from Latin-1 bytes copies them and does nothing else
    public List<Object> apply(ConsumerRecord<byte[], byte[]> record) {
        byte[] value = record.value();
        long time = 0;
        int at = 0;
        for (; value[at] != ','; at++) {
            time = time * 10 + (value[at] - '0');
        }
        int type = at + 1;
        int sip = indexOfComma(value, type) + 1;
        int end = indexOfComma(value, sip);
        byte[] key = new byte[end - type];
        System.arraycopy(value, sip, key, 0, end - sip);
        key[end - sip] = ',';
        System.arraycopy(value, type, key, end - sip + 1, sip - 1 - type);
        return Arrays.asList(new String(key, 0), time * unitMs, record.partition());
    }

    private static int indexOfComma(byte[] value, int from) {
        int at = from;
        while (value[at] != ',') {
            at++;
        }
        return at;
    }

    @Override
    public Fields getFieldsFor(String stream) {
        return FIELDS;
    }
}
