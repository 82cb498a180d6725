import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Properties;
import java.util.stream.IntStream;

import com.sun.management.OperatingSystemMXBean;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Java's classic consumer, measured as clients/straight.py measures the others: a topic is read
 * once, every value is looked at. It is read by two consumers, one after the other, with a line
 * for each: the first one's machine code is made while it reads, the second one's is there.
 *
 *     java Reading BOOTSTRAP TOPIC COUNT SIZE [KEY=VALUE ...]
 */
public final class Reading {
    private static final int PARTITIONS = 6;

    public static void main(String[] arguments) throws Exception {
        for (int pass = 0; pass < 2; pass++) {
            through(arguments);
        }
    }

    private static void through(String[] arguments) throws Exception {
        String topic = arguments[1];
        long count = Long.parseLong(arguments[2]);
        long size = Long.parseLong(arguments[3]);
        Properties keys = new Properties();
        keys.put("bootstrap.servers", arguments[0]);
        keys.put("auto.offset.reset", "earliest");
        keys.put("enable.auto.commit", "false");
        for (int each = 4; each < arguments.length; each++) {
            String[] parts = arguments[each].split("=", 2);
            keys.put(parts[0], parts[1]);
        }
        List<TopicPartition> all = IntStream.range(0, PARTITIONS)
            .mapToObj(each -> new TopicPartition(topic, each)).toList();
        var system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        try (var consumer = new KafkaConsumer<>(
                keys, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.assign(all);
            long seen = 0;
            long bytes = 0;
            var threads = ManagementFactory.getThreadMXBean();
            long used = system.getProcessCpuTime();
            long own = threads.getCurrentThreadCpuTime();
            long began = System.nanoTime();
            while (seen < count) {
                for (ConsumerRecord<byte[], byte[]> each : consumer.poll(Duration.ofSeconds(1))) {
                    bytes += each.value().length;
                    seen++;
                }
            }
            double seconds = (System.nanoTime() - began) / 1e9;
            double cpu = (system.getProcessCpuTime() - used) / 1e9;
            double reading = (threads.getCurrentThreadCpuTime() - own) / 1e9;
            if (bytes != seen * size) {
                throw new IllegalStateException("read " + seen + " records of " + bytes + " bytes");
            }
            System.out.printf(Locale.ROOT,
                "{\"rate\": %.1f, \"cpu\": %.4f, \"reading\": %.4f, \"mb\": %.2f, \"peak\": %.1f}%n",
                seen / seconds, cpu / seen * 1e6, reading / seen * 1e6, bytes / seconds / 1e6,
                peak());
        }
    }

    private static double peak() throws Exception {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmHWM")) {
                return Double.parseDouble(line.replaceAll("\\D", "")) / 1024;
            }
        }
        throw new IllegalStateException("no VmHWM");
    }
}
