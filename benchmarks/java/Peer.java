import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;

import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Java's consumer, measured as clients/frame.py measures the others: the same modes, the
 * same lines. The first argument says which of its two consumers, by its group.protocol.
 */
public final class Peer {
    private static final int WARM_UP = 200;
    private static final TopicPartition TP = new TopicPartition("orders", 0);

    private final KafkaConsumer<byte[], byte[]> consumer;

    private Peer(String protocol, String bootstrap) {
        Properties keys = new Properties();
        keys.put("bootstrap.servers", bootstrap);
        keys.put("group.id", "java-" + protocol);
        keys.put("group.protocol", protocol);
        keys.put("allow.auto.create.topics", "false");
        consumer = new KafkaConsumer<>(keys, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    public static void main(String[] arguments) throws Exception {
        Peer peer = new Peer(arguments[0], arguments[1]);
        peer.prepare();
        switch (arguments[2]) {
            case "call" -> peer.one(arguments[3], seconds(arguments[4]));
            case "poll" -> peer.polls(seconds(arguments[3]), seconds(arguments[4]));
            case "round_trips" -> peer.roundTrips(Integer.parseInt(arguments[3]));
            case "timeouts" -> peer.timeouts(Integer.parseInt(arguments[3]), seconds(arguments[4]));
            default -> throw new IllegalArgumentException("no such mode: " + arguments[2]);
        }
        Runtime.getRuntime().halt(0);
    }

    private void prepare() {
        Duration patience = Duration.ofSeconds(10);
        consumer.assign(List.of(TP));
        call("commit_sync", patience);
        call("committed", patience);
        consumer.position(TP, patience);
        consumer.poll(Duration.ofMillis(200));
    }

    private Object call(String name, Duration limit) {
        switch (name) {
            case "commit_sync" -> consumer.commitSync(Map.of(TP, new OffsetAndMetadata(1)), limit);
            case "committed" -> {
                return consumer.committed(Set.of(TP), limit);
            }
            case "position" -> {
                consumer.seekToEnd(List.of(TP));
                return consumer.position(TP, limit);
            }
            case "beginning_offsets" -> {
                return consumer.beginningOffsets(List.of(TP), limit);
            }
            case "end_offsets" -> {
                return consumer.endOffsets(List.of(TP), limit);
            }
            case "offsets_for_times" -> {
                return consumer.offsetsForTimes(Map.of(TP, 1L), limit);
            }
            case "list_topics" -> {
                return consumer.listTopics(limit);
            }
            case "partitions_for" -> {
                return consumer.partitionsFor("unheard-of", limit);
            }
            case "poll" -> {
                return consumer.poll(limit).count();
            }
            case "close" -> consumer.close(limit);
            default -> throw new IllegalArgumentException("no such call: " + name);
        }
        return "None";
    }

    private void one(String name, Duration limit) throws Exception {
        tell("ready");
        // As in a service that reads, until the moment at which the broker freezes.
        while (System.in.available() == 0) {
            consumer.poll(Duration.ofMillis(100));
        }
        long began = System.nanoTime();
        String said;
        try {
            said = String.valueOf(call(name, limit));
        } catch (RuntimeException error) {
            said = error.getClass().getSimpleName();
        }
        double took = (System.nanoTime() - began) / 1e9;
        tell("{\"seconds\": " + took + ", \"outcome\": \"" + said.replace('"', '\'') + "\"}");
    }

    private void polls(Duration each, Duration lasting) throws Exception {
        waitForGo();
        long over = System.nanoTime() + lasting.toNanos();
        while (System.nanoTime() < over) {
            consumer.poll(each);
        }
        tell("{\"before\": {}, \"after\": {}}");
    }

    private void roundTrips(int number) throws Exception {
        for (int each = 0; each < WARM_UP; each++) {
            call("committed", Duration.ofSeconds(5));
        }
        waitForGo();
        StringBuilder took = new StringBuilder("[");
        for (int each = 0; each < number; each++) {
            long began = System.nanoTime();
            call("committed", Duration.ofSeconds(5));
            took.append(each == 0 ? "" : ", ").append((System.nanoTime() - began) / 1e9);
        }
        tell(took.append("]").toString());
    }

    private void timeouts(int number, Duration limit) throws Exception {
        waitForGo();
        tooLate(WARM_UP, limit);
        tell("\"warm\"");
        System.in.read();
        tooLate(number, limit);
        tell("{}");
        System.in.read();
        Thread.sleep(1000);
        tell("{}");
        System.in.read();
    }

    private void tooLate(int number, Duration limit) {
        for (int each = 0; each < number; each++) {
            try {
                call("committed", limit);
            } catch (RuntimeException error) {
                continue;
            }
        }
    }

    private static Duration seconds(String given) {
        return Duration.ofNanos((long) (Double.parseDouble(given) * 1e9));
    }

    private static void waitForGo() throws Exception {
        tell("ready");
        System.in.read();
    }

    private static void tell(String line) {
        System.out.println(line);
        System.out.flush();
    }
}
