import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.Locale;
import java.util.Properties;
import java.util.Random;

import com.sun.management.OperatingSystemMXBean;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Java's transactions, measured as clients/transacting.py measures the others: BOOTSTRAP TOPIC
 * RECORDS TIMES, and the same line. It is warm after a third as many.
 */
public final class Transacting {
    private static final int SIZE = 100;
    private static final OperatingSystemMXBean SYSTEM =
        (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private Transacting() {
    }

    private static KafkaProducer<byte[], byte[]> producer(String bootstrap, String id) {
        Properties keys = new Properties();
        keys.put("bootstrap.servers", bootstrap);
        keys.put("acks", "all");
        if (id != null) {
            keys.put("transactional.id", id);
        }
        return new KafkaProducer<>(keys, new ByteArraySerializer(), new ByteArraySerializer());
    }

    private static double median(double[] values) {
        Arrays.sort(values);
        int half = values.length / 2;
        return values.length % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
    }

    public static void main(String[] arguments) {
        String topic = arguments[1];
        int records = Integer.parseInt(arguments[2]);
        int times = Integer.parseInt(arguments[3]);
        byte[][] values = new byte[1000][SIZE];
        Random random = new Random(records);
        for (byte[] each : values) {
            random.nextBytes(each);
        }
        var transactional = producer(arguments[0], topic + "-" + ProcessHandle.current().pid());
        var plain = producer(arguments[0], null);
        transactional.initTransactions();
        double[] commits = new double[times];
        double[] wholes = new double[times];
        double[] flushes = new double[times];
        double spent = 0;
        double total = 0;
        for (int nth = -(times / 3); nth < times; nth++) {
            long used = SYSTEM.getProcessCpuTime();
            long began = System.nanoTime();
            transactional.beginTransaction();
            for (int each = 0; each < records; each++) {
                transactional.send(new ProducerRecord<>(topic, values[each % 1000]));
            }
            long sent = System.nanoTime();
            transactional.commitTransaction();
            long over = System.nanoTime();
            long cpu = SYSTEM.getProcessCpuTime() - used;
            long alone = System.nanoTime();
            for (int each = 0; each < records; each++) {
                plain.send(new ProducerRecord<>(topic, values[each % 1000]));
            }
            plain.flush();
            long flushed = System.nanoTime();
            if (nth >= 0) {
                commits[nth] = (over - sent) / 1e6;
                wholes[nth] = (over - began) / 1e6;
                flushes[nth] = (flushed - alone) / 1e6;
                spent += cpu / 1e9;
                total += (over - began) / 1e9;
            }
        }
        System.out.printf(Locale.ROOT,
            "{\"rate\": %.2f, \"cpu\": %.6f, \"whole\": %.3f, \"commit\": %.3f, \"flush\": %.3f}%n",
            times / total, spent / times, median(wholes), median(commits), median(flushes));
        Runtime.getRuntime().halt(0);
    }
}
