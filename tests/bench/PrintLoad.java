import java.nio.file.Path;
import jdk.jfr.Event;
import jdk.jfr.Name;
import jdk.jfr.Recording;

/** Writes a recording of N events with stacks of a dozen frames, 1,024 different ones: PrintLoad FILE N. */
public class PrintLoad {
	@Name("shop.Order")
	static class Order extends Event {
		long orderId;
		String customer;
		int items;
		double price;
	}

	static void left(int depth, int number) {
		if (depth == 0)
			commit(number);
		else if ((number >> depth & 1) == 0)
			left(depth - 1, number);
		else
			right(depth - 1, number);
	}

	static void right(int depth, int number) {
		if (depth == 0)
			commit(number);
		else if ((number >> depth & 1) == 0)
			left(depth - 1, number);
		else
			right(depth - 1, number);
	}

	static void commit(int number) {
		Order order = new Order();
		order.begin();
		order.orderId = number;
		order.customer = "customer-" + number % 100;
		order.items = number % 7;
		order.price = number * 0.01;
		order.commit();
	}

	public static void main(String[] arguments) throws Exception {
		try (Recording recording = new Recording()) {
			recording.enable("shop.Order").withStackTrace();
			recording.start();
			for (int i = 0; i < Integer.parseInt(arguments[1]); i++)
				left(10, i);
			recording.stop();
			recording.dump(Path.of(arguments[0]));
		}
	}
}
