// Offsets of the program with Jedis that articles repeat: hash2 = hash1>>>16, (h1+i*h2) with ~ on negatives, % numBits; n=100 fpp=0.01.
// javac -cp /usr/share/java/guava.jar -d /tmp/out JedisBitmap.java && java -cp /usr/share/java/guava.jar:/tmp/out JedisBitmap
import com.google.common.hash.*; import java.nio.charset.StandardCharsets; import java.util.*;
public class JedisBitmap {
  static long m(long n, double p) { return (long) (-n * Math.log(p) / (Math.log(2) * Math.log(2))); }
  static int k(long n, long m) { return Math.max(1, (int) Math.round((double) m / n * Math.log(2))); }
  static long[] idx(String key, int k, long numBits) {
    long h1 = Hashing.murmur3_128().hashObject(key, Funnels.stringFunnel(StandardCharsets.UTF_8)).asLong(), h2 = h1 >>> 16; long[] r = new long[k];
    for (int i = 0; i < k; i++) { long c = h1 + i * h2; if (c < 0) c = ~c; r[i] = c % numBits; } return r; }
  public static void main(String[] a) {
    long nb = m(100, 0.01); int k = k(100, nb); System.out.println("numBits=" + nb + " k=" + k);
    BitSet b = new BitSet();
    for (int i = 0; i < 100; i++) { long[] x = idx(String.valueOf(i), k, nb); if (i < 10) System.out.println(i + "\t" + Arrays.toString(x)); for (long v : x) b.set((int) v); }
    byte[] o = new byte[(b.length() + 7) / 8]; for (int i = b.nextSetBit(0); i >= 0; i = b.nextSetBit(i + 1)) o[i >> 3] |= 0x80 >>> (i & 7);
    StringBuilder s = new StringBuilder(); for (byte x : o) s.append(String.format("%02x", x)); System.out.println("redis key bytes=" + s + " bitcount=" + b.cardinality());
    // FPR of that index derivation against Guava's at several sizes
    for (int n : new int[]{100, 10000, 1000000}) { long mm = m(n, 0.01); int kk = k(n, mm); BitSet z = new BitSet();
      for (int i = 0; i < n; i++) for (long v : idx(String.valueOf(i), kk, mm)) z.set((int) v);
      int fp = 0, q = 400000; for (int i = 0; i < q; i++) { boolean all = true; for (long v : idx("x" + i, kk, mm)) if (!z.get((int) v)) { all = false; break; } if (all) fp++; }
      BloomFilter<CharSequence> g = BloomFilter.create(Funnels.stringFunnel(StandardCharsets.UTF_8), n, 0.01); for (int i = 0; i < n; i++) g.put(String.valueOf(i));
      int gf = 0; for (int i = 0; i < q; i++) if (g.mightContain("x" + i)) gf++;
      System.out.printf("n=%d target=0.01 measured_fpr=%.5f fill=%.4f guava_fpr=%.5f%n", n, fp / (double) q, z.cardinality() / (double) mm, gf / (double) q); }
  }
}
