/*
 * Reads a recording with the JDK's two readers, RecordingFile and EventStream, touching every field of every
 * event, and prints how many events of each type each of them saw.
 *
 *   java CountEvents.java FILE.jfr
 *
 * Out: lines "TYPE COUNT" of RecordingFile, sorted; exit status 1 when EventStream counts differently.
 */
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import jdk.jfr.ValueDescriptor;
import jdk.jfr.consumer.EventStream;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordedStackTrace;
import jdk.jfr.consumer.RecordingFile;

public class CountEvents {
    static long touched;

    static void touch(RecordedEvent event) {
        touched += event.getStartTime().getNano() + event.getDuration().toNanos();
        for (ValueDescriptor field : event.getFields()) {
            Object value = event.getValue(field.getName());
            touched += value == null ? 0 : value.hashCode();
        }
        RecordedStackTrace stack = event.getStackTrace();
        if (stack == null)
            return;
        for (RecordedFrame frame : stack.getFrames())
            touched += frame.getMethod().getName().length() + frame.getMethod().getType().getName().length()
                + frame.getMethod().getDescriptor().length() + frame.getLineNumber();
    }

    static Map<String, Integer> byFile(Path path) throws Exception {
        Map<String, Integer> counts = new TreeMap<>();
        try (RecordingFile file = new RecordingFile(path)) {
            while (file.hasMoreEvents()) {
                RecordedEvent event = file.readEvent();
                touch(event);
                counts.merge(event.getEventType().getName(), 1, Integer::sum);
            }
        }
        return counts;
    }

    static Map<String, Integer> byStream(Path path) throws Exception {
        Map<String, Integer> counts = new TreeMap<>();
        try (EventStream stream = EventStream.openFile(path)) {
            stream.onEvent(event -> {
                touch(event);
                counts.merge(event.getEventType().getName(), 1, Integer::sum);
            });
            stream.start();
        }
        return counts;
    }

    public static void main(String[] arguments) throws Exception {
        Path path = Path.of(arguments[0]);
        Map<String, Integer> file = byFile(path);
        Map<String, Integer> stream = byStream(path);
        file.forEach((name, count) -> System.out.println(name + " " + count));
        if (!file.equals(stream)) {
            System.err.println("EventStream counts differently: " + stream);
            System.exit(1);
        }
    }
}
