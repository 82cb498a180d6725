import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;

import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.MetricsReporter;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.telemetry.ClientTelemetry;
import org.apache.kafka.server.telemetry.ClientTelemetryPayload;
import org.apache.kafka.server.telemetry.ClientTelemetryReceiver;
import org.apache.kafka.shaded.com.google.protobuf.ByteString;
import org.apache.kafka.shaded.io.opentelemetry.proto.common.v1.KeyValue;
import org.apache.kafka.shaded.io.opentelemetry.proto.metrics.v1.Metric;
import org.apache.kafka.shaded.io.opentelemetry.proto.metrics.v1.MetricsData;
import org.apache.kafka.shaded.io.opentelemetry.proto.metrics.v1.NumberDataPoint;
import org.apache.kafka.shaded.io.opentelemetry.proto.metrics.v1.ResourceMetrics;
import org.apache.kafka.shaded.io.opentelemetry.proto.metrics.v1.ScopeMetrics;

/**
 * A broker's receiver of clients' metrics: appends each point to a file, as one line.
 *
 * The interfaces are those of KIP-714; 4.2 and later have newer ones beside them.
 */
public final class TelemetryReceiver
        implements MetricsReporter, ClientTelemetry, ClientTelemetryReceiver {
    private static final Path OUT = Path.of(System.getProperty("prokurist.telemetry"));

    /** As an agent its archive is on the class path of the broker; nothing else is wanted. */
    public static void premain(String arguments, Instrumentation instrumentation) {
    }

    @Override
    public ClientTelemetryReceiver clientReceiver() {
        return this;
    }

    @Override
    public synchronized void exportMetrics(
            AuthorizableRequestContext context, ClientTelemetryPayload payload) {
        StringBuilder lines = new StringBuilder();
        try {
            MetricsData data = MetricsData.parseFrom(ByteString.copyFrom(payload.data()).toByteArray());
            for (ResourceMetrics of : data.getResourceMetricsList()) {
                String resource = pairs(of.getResource().getAttributesList());
                for (ScopeMetrics scope : of.getScopeMetricsList()) {
                    for (Metric metric : scope.getMetricsList()) {
                        boolean sum = metric.hasSum();
                        String kind = sum ? metric.getSum().getAggregationTemporality().name() : "GAUGE";
                        List<NumberDataPoint> points = sum
                            ? metric.getSum().getDataPointsList()
                            : metric.getGauge().getDataPointsList();
                        for (NumberDataPoint point : points) {
                            lines.append(String.join("\t",
                                context.clientId(),
                                payload.clientInstanceId().toString(),
                                Boolean.toString(payload.isTerminating()),
                                resource,
                                kind,
                                metric.getName(),
                                Double.toString(point.getAsDouble()),
                                pairs(point.getAttributesList()))).append('\n');
                        }
                    }
                }
            }
            Files.writeString(OUT, lines, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException error) {
            throw new IllegalArgumentException(error);
        }
    }

    private static String pairs(List<KeyValue> attributes) {
        StringBuilder all = new StringBuilder();
        for (KeyValue each : attributes) {
            all.append(all.length() == 0 ? "" : ",");
            all.append(each.getKey()).append('=').append(each.getValue().getStringValue());
        }
        return all.toString();
    }

    @Override
    public void configure(Map<String, ?> configs) {
    }

    @Override
    public void init(List<KafkaMetric> metrics) {
    }

    @Override
    public void metricChange(KafkaMetric metric) {
    }

    @Override
    public void metricRemoval(KafkaMetric metric) {
    }

    @Override
    public void close() {
    }
}
