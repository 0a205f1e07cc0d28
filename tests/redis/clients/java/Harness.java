import java.util.Objects;
import java.util.function.BooleanSupplier;

/** What the Java programs share: where the server is, and counting. */
final class Harness {
    interface Body {
        void run() throws Exception;
    }

    final String host;
    final int port;
    final Body before;
    private int passed, failed;

    Harness(String[] arguments, Body before) {
        String[] address = address(arguments);
        host = address[0];
        port = Integer.parseInt(address[1]);
        this.before = before;
    }

    static String[] address(String[] arguments) {
        return (arguments.length == 2 && arguments[0].equals("--redis") ? arguments[1] : "127.0.0.1:6379").split(":");
    }

    void test(String name, Body body) {
        try {
            before.run();
            body.run();
            passed++;
        } catch (Throwable problem) {
            failed++;
            System.out.println("FAILED " + name + ": " + problem);
            for (int i = 0; i < Math.min(4, problem.getStackTrace().length); i++) System.out.println("    " + problem.getStackTrace()[i]);
        }
    }

    static void equal(Object got, Object wanted) {
        if (!Objects.equals(got, wanted)) throw new AssertionError(got + " is not " + wanted);
    }

    static <E extends Exception> void fails(Class<E> kind, Body body) throws Exception {
        try {
            body.run();
        } catch (Exception error) {
            if (kind.isInstance(error)) return;
            throw error;
        }
        throw new AssertionError("no " + kind.getSimpleName());
    }

    static void until(BooleanSupplier condition) throws InterruptedException {
        long end = System.nanoTime() + 15_000_000_000L;
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > end) throw new AssertionError("it does not come true");
            Thread.sleep(10);
        }
    }

    void end() {
        System.out.println(passed + " passed, " + failed + " failed");
        System.exit(failed > 0 ? 1 : 0);
    }
}
