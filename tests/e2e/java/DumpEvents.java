/*
 * Prints the events of a recording as lines, read by the JDK's own consumer API.
 *
 *   java DumpEvents.java FILE [NAME...]
 *
 * In: a .jfr file, names of event types (none: all). Out: one line an event, `name time key=value ...`,
 * time in nanoseconds since the epoch; threads as name#tid@group, stacks as frames joined by '<'.
 */
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.StringJoiner;
import jdk.jfr.ValueDescriptor;
import jdk.jfr.consumer.RecordedClass;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordedObject;
import jdk.jfr.consumer.RecordedStackTrace;
import jdk.jfr.consumer.RecordedThread;
import jdk.jfr.consumer.RecordingFile;

public class DumpEvents {
    public static void main(String[] arguments) throws Exception {
        List<String> names = List.of(arguments).subList(1, arguments.length);
        StringBuilder out = new StringBuilder();

        try (RecordingFile file = new RecordingFile(Path.of(arguments[0]))) {
            while (file.hasMoreEvents()) {
                RecordedEvent event = file.readEvent();
                if (names.isEmpty() || names.contains(event.getEventType().getName()))
                    out.append(line(event)).append('\n');
            }
        }
        System.out.write(out.toString().getBytes("UTF-8"));
        System.out.flush();
    }

    static String line(RecordedEvent event) {
        StringJoiner line = new StringJoiner(" ");
        Instant start = event.getStartTime();

        line.add(event.getEventType().getName());
        line.add(Long.toString(start.getEpochSecond() * 1_000_000_000L + start.getNano()));
        for (ValueDescriptor field : event.getFields())
            if (!field.getName().equals("startTime"))
                line.add(field.getName() + "=" + value(event, field.getName()));
        return line.toString();
    }

    static String value(RecordedEvent event, String name) {
        Object value = event.getValue(name);

        if (value instanceof RecordedThread t) {
            String group = t.getThreadGroup() == null ? "" : "@" + t.getThreadGroup().getName();
            return t.getOSName() + "#" + t.getOSThreadId() + group;
        }
        if (value instanceof RecordedClass c)
            return c.getName();
        if (value instanceof RecordedStackTrace s)
            return stack(s);
        if (value instanceof RecordedObject o)
            return "{" + o.toString().replace('\n', ' ') + "}";
        return String.valueOf(value);
    }

    static String stack(RecordedStackTrace trace) {
        StringJoiner frames = new StringJoiner("<");

        for (RecordedFrame frame : trace.getFrames()) {
            frames.add(frame.getMethod().getType().getName() + "." + frame.getMethod().getName()
                    + frame.getMethod().getDescriptor() + ":" + frame.getLineNumber() + ":" + frame.getType());
        }
        return frames + (trace.isTruncated() ? "<..." : "");
    }
}
