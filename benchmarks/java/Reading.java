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
 * Java's classic consumer, measured as clients/reading.py measures the others: the same
 * arguments, the same line. It is warm when it has read all of the topic.
 */
public final class Reading {
    private static final int PARTITIONS = 6;
    private static final double LONG_ENOUGH = 2.0;

    public static void main(String[] arguments) throws Exception {
        String topic = arguments[1];
        long count = Long.parseLong(arguments[2]);
        long size = Long.parseLong(arguments[3]);
        Properties keys = new Properties();
        keys.put("bootstrap.servers", arguments[0]);
        keys.put("auto.offset.reset", "earliest");
        keys.put("enable.auto.commit", "false");
        List<TopicPartition> all = IntStream.range(0, PARTITIONS)
            .mapToObj(each -> new TopicPartition(topic, each)).toList();
        try (var consumer = new KafkaConsumer<>(
                keys, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.assign(all);
            through(consumer, all, count, size);
            Passed passed = new Passed(0, 0, 0);
            while (passed.seconds() < LONG_ENOUGH) {
                passed = passed.and(through(consumer, all, count, size));
            }
            System.out.printf(Locale.ROOT, "{\"rate\": %.1f, \"cpu\": %.4f, \"peak\": %.1f}%n",
                passed.records() / passed.seconds(),
                passed.cpu() / passed.records() * 1e6, peak());
        }
    }

    /** What was read after the first records of a pass, in how many seconds of either kind. */
    private record Passed(long records, double seconds, double cpu) {
        Passed and(Passed other) {
            return new Passed(
                records + other.records, seconds + other.seconds, cpu + other.cpu);
        }
    }

    private static Passed through(
            KafkaConsumer<byte[], byte[]> consumer, List<TopicPartition> all, long count, long size) {
        var system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        consumer.seekToBeginning(all);
        long seen = 0;
        long bytes = 0;
        long first = 0;
        long began = 0;
        long used = 0;
        while (seen < count) {
            for (ConsumerRecord<byte[], byte[]> each : consumer.poll(Duration.ofSeconds(1))) {
                bytes += each.value().length;
                seen++;
            }
            if (first == 0 && seen > 0) {
                first = seen;
                began = System.nanoTime();
                used = system.getProcessCpuTime();
            }
        }
        double seconds = (System.nanoTime() - began) / 1e9;
        double cpu = (system.getProcessCpuTime() - used) / 1e9;
        if (seen != count || bytes != count * size) {
            throw new IllegalStateException("read " + seen + " records of " + bytes + " bytes");
        }
        return new Passed(seen - first, seconds, cpu);
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
