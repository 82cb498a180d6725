import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.Future;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Java's producer sends a record for each key of standard input, in hex, and prints where it is. */
public final class Placing {
    public static void main(String[] arguments) throws Exception {
        Properties keys = new Properties();
        keys.put("bootstrap.servers", arguments[0]);
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(keys, new ByteArraySerializer(), new ByteArraySerializer());
            BufferedReader lines = new BufferedReader(new InputStreamReader(System.in))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                byte[] key = HexFormat.of().parseHex(line);
                sent.add(producer.send(new ProducerRecord<>(arguments[1], key, new byte[0])));
            }
        }
        StringBuilder placed = new StringBuilder();
        for (Future<RecordMetadata> each : sent) {
            placed.append(each.get().partition()).append('\n');
        }
        System.out.print(placed);
    }
}
