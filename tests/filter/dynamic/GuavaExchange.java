// The Java side of guava_library_test: reads and writes filters with the real library.
//   java -cp guava.jar GuavaExchange.java DIRECTORY
// For each line "NAME KEYS PROBABILITY" of DIRECTORY/create: an empty filter into NAME.created. For
// each line "NAME" of DIRECTORY/exchange: reads NAME.in, puts the keys of NAME.keys (hexadecimal, one
// a line), writes NAME.out, and for each key of NAME.asked a line "true" or "false" into
// NAME.answers.

import com.google.common.hash.BloomFilter;
import com.google.common.hash.Funnels;
import com.google.common.io.BaseEncoding;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;

public final class GuavaExchange {
  private static byte[] key(String digits) {
    return BaseEncoding.base16().lowerCase().decode(digits);
  }

  private static void write(BloomFilter<byte[]> filter, Path path) throws Exception {
    try (OutputStream out = Files.newOutputStream(path)) {
      filter.writeTo(out);
    }
  }

  public static void main(String[] arguments) throws Exception {
    Path directory = Paths.get(arguments[0]);
    for (String line : Files.readAllLines(directory.resolve("create"))) {
      String[] words = line.split(" ");
      write(
          BloomFilter.create(
              Funnels.byteArrayFunnel(), Long.parseLong(words[1]), Double.parseDouble(words[2])),
          directory.resolve(words[0] + ".created"));
    }
    for (String name : Files.readAllLines(directory.resolve("exchange"))) {
      BloomFilter<byte[]> filter;
      try (InputStream in = Files.newInputStream(directory.resolve(name + ".in"))) {
        filter = BloomFilter.readFrom(in, Funnels.byteArrayFunnel());
      }
      for (String line : Files.readAllLines(directory.resolve(name + ".keys"))) {
        filter.put(key(line));
      }
      write(filter, directory.resolve(name + ".out"));
      List<String> answers = new ArrayList<>();
      for (String line : Files.readAllLines(directory.resolve(name + ".asked"))) {
        answers.add(Boolean.toString(filter.mightContain(key(line))));
      }
      Files.write(directory.resolve(name + ".answers"), answers);
    }
  }
}
