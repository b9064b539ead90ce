/*
 * The loop over RecordingFile that bench_reader.c is compared with: every event, its thread, every frame of its
 * stack, warm.
 *
 *   java BenchReader.java FILE ROUNDS
 *
 * Out: the best round in milliseconds of the reading thread's processor time (without compiler and collector, which
 * work beside it), and what was read.
 */
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordedStackTrace;
import jdk.jfr.consumer.RecordingFile;

public class BenchReader {
    static long events, frames, sum;

    static void read(Path path) throws Exception {
        events = frames = 0;
        try (RecordingFile file = new RecordingFile(path)) {
            while (file.hasMoreEvents()) {
                RecordedEvent event = file.readEvent();
                RecordedStackTrace stack = event.getStackTrace();
                events++;
                sum += event.getStartTime().getNano() + event.getDuration().toNanos();
                if (event.getThread() != null)
                    sum += event.getThread().getOSName().length();
                if (stack == null)
                    continue;
                for (RecordedFrame frame : stack.getFrames()) {
                    sum += frame.getMethod().getName().length() + frame.getLineNumber();
                    frames++;
                }
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        var threads = ManagementFactory.getThreadMXBean();
        long best = Long.MAX_VALUE;

        for (int i = 0; i < Integer.parseInt(arguments[1]); i++) {
            long start = threads.getCurrentThreadCpuTime();
            read(Path.of(arguments[0]));
            best = Math.min(best, threads.getCurrentThreadCpuTime() - start);
        }
        System.out.printf("%.2f %d %d%n", best / 1e6, events, frames);
    }
}
