import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Properties;
import java.util.stream.Collectors;

import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Java's consumer as a member of a group, with the arguments, lines and journal of
 * clients/member.py; with more than one journal it is as many members, each in a thread.
 */
public final class Member {
    private static volatile boolean goesOn = true;

    public static void main(String[] arguments) throws Exception {
        String protocol = arguments[0];
        List<Thread> members = new ArrayList<>();
        for (int each = 4; each < arguments.length; each++) {
            Path journal = Path.of(arguments[each]);
            members.add(new Thread(() -> live(protocol, arguments, journal)));
        }
        Class.forName("org.apache.kafka.clients.consumer.KafkaConsumer");
        tell("ready");
        System.in.read();
        members.forEach(Thread::start);
        System.in.read();
        goesOn = false;
        double began = System.nanoTime() / 1e9;
        for (Thread each : members) {
            each.join();
        }
        tell(String.format(Locale.ROOT, "%.6f", began));
        Runtime.getRuntime().halt(0);
    }

    private static void live(String protocol, String[] arguments, Path path) {
        Properties keys = new Properties();
        keys.put("bootstrap.servers", arguments[1]);
        keys.put("group.id", arguments[2]);
        if (protocol.equals("consumer")) {
            keys.put("group.protocol", "consumer");
        } else {
            keys.put("session.timeout.ms", "6000");
            keys.put("heartbeat.interval.ms", "1000");
            keys.put("partition.assignment.strategy", "org.apache.kafka.clients.consumer."
                + (protocol.equals("range") ? "RangeAssignor" : "CooperativeStickyAssignor"));
        }
        try (OutputStream journal = Files.newOutputStream(path,
                StandardOpenOption.CREATE, StandardOpenOption.APPEND);
             var consumer = new KafkaConsumer<>(
                keys, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(List.of(arguments[3]));
            while (goesOn) {
                double began = System.nanoTime() / 1e9;
                ConsumerRecords<byte[], byte[]> polled = consumer.poll(Duration.ofMillis(200));
                double ended = System.nanoTime() / 1e9;
                String counts = polled.partitions().stream()
                    .map(each -> each.partition() + ":" + polled.records(each).size())
                    .collect(Collectors.joining(","));
                journal.write(String.format(Locale.ROOT, "%.6f %.6f %s%n", began, ended, counts)
                    .getBytes());
            }
        } catch (Exception error) {
            throw new IllegalStateException(error);
        }
    }

    private static void tell(String line) {
        System.out.println(line);
        System.out.flush();
    }
}
