import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;

import com.sun.management.OperatingSystemMXBean;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Java's producer, measured as clients/producing.py measures the others: the same arguments,
 * with keys as name=value, and the same lines. It is warm when it has written as many records
 * as are measured.
 */
public final class Producing {
    private static final double ASKED = 2.0;
    private static final long BLOCKS = 20;
    private static final double STILL = 5.0;
    private static final OperatingSystemMXBean SYSTEM =
        (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private final KafkaProducer<byte[], byte[]> producer;
    private final String topic;
    private final byte[][] values = new byte[1000][];
    private int next;

    private Producing(String[] arguments) {
        topic = arguments[2];
        Random random = new Random(1);
        for (int each = 0; each < values.length; each++) {
            values[each] = new byte[Integer.parseInt(arguments[4])];
            random.nextBytes(values[each]);
        }
        Properties keys = new Properties();
        keys.put("bootstrap.servers", arguments[1]);
        keys.put("acks", "all");
        keys.put("enable.idempotence", "true");
        for (int each = 5; each < arguments.length; each++) {
            String[] parts = arguments[each].split("=", 2);
            keys.put(parts[0], parts[1]);
        }
        producer = new KafkaProducer<>(keys, new ByteArraySerializer(), new ByteArraySerializer());
    }

    public static void main(String[] arguments) throws Exception {
        String way = arguments[0];
        int count = Integer.parseInt(arguments[3]);
        Producing client = new Producing(arguments);
        if (way.equals("append") || way.equals("frozen")) {
            while (client.producer.send(client.record()).isDone()) {
                // One that waits but shortly does not know the topic as yet.
            }
            client.write("flush", way.equals("append") ? count : count / 10);
            System.out.println("ready");
            System.in.read();
            if (way.equals("frozen")) {
                client.inVain(count);
            } else {
                client.measured(way, count);
            }
        } else {
            client.write(way, count);
            client.measured(way, count);
        }
        Runtime.getRuntime().halt(0);
    }

    private void measured(String way, int count) throws Exception {
        long used = SYSTEM.getProcessCpuTime();
        long began = System.nanoTime();
        long told = write(way, count);
        double seconds = (System.nanoTime() - began) / 1e9;
        double cpu = (SYSTEM.getProcessCpuTime() - used) / 1e9;
        if (told != -1 && told != count) {
            throw new IllegalStateException(told + " records were told to be delivered");
        }
        System.out.printf(Locale.ROOT, "{\"rate\": %.1f, \"cpu\": %.4f}%n",
            count / seconds, cpu / count * 1e6);
    }

    private ProducerRecord<byte[], byte[]> record() {
        next = (next + 1) % values.length;
        return new ProducerRecord<>(topic, values[next]);
    }

    private long write(String way, int count) throws Exception {
        long told = -1;
        switch (way) {
            case "handles" -> {
                List<Future<RecordMetadata>> kept = new ArrayList<>(count);
                for (int each = 0; each < count; each++) {
                    kept.add(producer.send(record()));
                }
                producer.flush();
                told = 0;
                for (Future<RecordMetadata> each : kept) {
                    told += each.get().offset() >= 0 ? 1 : 0;
                }
            }
            case "callbacks" -> {
                AtomicLong heard = new AtomicLong();
                for (int each = 0; each < count; each++) {
                    producer.send(record(), (metadata, error) -> {
                        if (error == null && metadata.offset() >= 0) {
                            heard.incrementAndGet();
                        }
                    });
                }
                producer.flush();
                told = heard.get();
            }
            default -> {
                for (int each = 0; each < count; each++) {
                    producer.send(record());
                }
                if (way.equals("flush")) {
                    producer.flush();
                }
            }
        }
        return told;
    }

    private void inVain(int times) throws Exception {
        double before = resident();
        while (!producer.send(record()).isDone()) {
            // There was room.
        }
        double full = resident();
        List<Double> sends = new ArrayList<>();
        List<Double> bare = new ArrayList<>();
        for (int each = 0; each < times; each++) {
            long began = System.nanoTime();
            producer.send(record());
            long middle = System.nanoTime();
            Thread.sleep(BLOCKS);
            sends.add((middle - began) / 1e9);
            bare.add((System.nanoTime() - middle) / 1e9);
        }
        long used = SYSTEM.getProcessCpuTime();
        Thread.sleep((long) (STILL * 1000));
        double still = (SYSTEM.getProcessCpuTime() - used) / 1e9 / STILL;
        System.out.printf(Locale.ROOT,
            "{\"send\": %s, \"bare\": %s, \"still\": %.5f, \"filled\": %.1f, \"growth\": %.1f}%n",
            sends, bare, still, full - before, resident() - full);
        long began = System.nanoTime();
        producer.close(Duration.ofMillis((long) (ASKED * 1000)));
        System.out.printf(Locale.ROOT, "{\"close\": %.4f}%n",
            (System.nanoTime() - began) / 1e9 - ASKED);
    }

    private static double resident() throws Exception {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmRSS")) {
                return Double.parseDouble(line.replaceAll("\\D", "")) / 1024;
            }
        }
        throw new IllegalStateException("no VmRSS");
    }
}
