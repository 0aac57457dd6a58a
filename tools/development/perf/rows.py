"""What `tools/dev perf` measures: the rows of its table, each with its goal.

Rows that are measured by one run of winnow_bench share a Setting, and settings that only read share
a Data: a database that is loaded once for each engine. Sizes are shares of --num.
"""

import dataclasses

# Winnow with Options::mmap_reads, as LevelDB and LMDB read: where data lies outside the block cache.
MAPPED = "winnow_mapped"
PEERS = (MAPPED, "rocksdb", "rocksdb_tuned", "leveldb", "lmdb", "wiredtiger")
# RocksDB counts as the better of the two.
VARIANTS = {"rocksdb": ("rocksdb", "rocksdb_tuned")}
PACKAGES = {"rocksdb": "librocksdb-dev", "rocksdb_tuned": "librocksdb-dev",
            "leveldb": "libleveldb-dev", "lmdb": "liblmdb-dev", "wiredtiger": "libwiredtiger-dev"}
KEY_BYTES = 16
GOALS_ARE_FOR = 5_000_000  # keys, by default


@dataclasses.dataclass(frozen=True)
class Data:
    """Filled in random order and compacted before the first round, and then only read."""

    name: str
    share: float
    value_bytes: int = 100


@dataclasses.dataclass(frozen=True)
class Setting:
    """One run of winnow_bench for each engine and round."""

    name: str
    flags: tuple
    data: Data | None = None  # None: each run fills an empty database first
    share: float = 1  # of --num, where there is no data
    value_bytes: int = 100
    reads: float = 0.2  # of the keys
    first: tuple = ()  # benchmarks that come before those of the rows
    is_cold: bool = False  # the files leave the system's page cache before each run
    is_outside_cache: bool = False  # the block cache has not all of the data

    def keys(self, num):
        return max(10, round((self.data or self).share * num))

    def value_size(self):
        return (self.data or self).value_bytes


def micros(result):
    return result["micros_per_op"]


def wall_micros(result):
    return 1e6 / result["ops_per_sec"]


def write_volume(result):
    return result["write_amplification"]


def p999(result):
    return result["p999_us"]


def longest(result):
    return None if result["max_us"] is None else result["max_us"] / 1000


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    title: str
    setting: Setting
    benchmark: str
    value: object = micros
    unit: str = "us"
    at_most: float | None = None  # the goal, in the row's unit; or
    times: tuple = ()  # (peer, factor): as many times faster than each
    engines: tuple = ()  # empty: all
    subject: str = "winnow"  # whose row it is


MEDIUM = Data("data", 1)
LARGE = Data("large", 10)

SMALL_CACHE = Setting("small_cache", ("--cache_size=32M", "--seek_nexts=10", "--warmup=1"), MEDIUM,
                      is_outside_cache=True)
CACHED = Setting("cached", ("--cache_size=2G", "--seek_nexts=10", "--warmup=1"), MEDIUM)
LARGE_CACHED = Setting("large_cached", ("--cache_size=8G", "--warmup=1"), LARGE, reads=0.04)
LARGE_FRESH = Setting("large_fresh", ("--cache_size=1G",), LARGE, reads=0.04,
                      is_outside_cache=True)
LARGE_READ = Setting("large_read", ("--cache_size=1G", "--warmup=1"), LARGE, reads=0.02,
                     is_outside_cache=True)
LARGE_COLD = Setting("large_cold", ("--cache_size=1G",), LARGE, reads=0.001, is_cold=True,
                     is_outside_cache=True)
# Of its own, so that the rows find the same files out of memory.
LARGE_COLD_BATCH = dataclasses.replace(LARGE_COLD, name="large_cold_batch")

# What a fill leaves to compactions counts as its own.
SETTLED = ("fillrandom", "waitforcompaction")
FILL = Setting("fill", ("--cache_size=32M",), first=SETTLED)
FILL_2 = Setting("fill_2", ("--cache_size=32M", "--threads=2"), first=SETTLED)
TAIL = Setting("tail", ("--cache_size=32M", "--threads=2", "--histogram"), share=0.6,
               first=("fillrandom",))
FILL_100K = Setting("fill100k", ("--cache_size=32M",), share=0.001, value_bytes=100_000,
                    first=("fillrandom",))
YCSB = Setting("ycsb", ("--cache_size=256M",), share=0.4, value_bytes=400, reads=0.25,
               first=SETTLED, is_outside_cache=True)
YCSB_LEVELDB = dataclasses.replace(YCSB, name="ycsb_leveldb")

# What LevelDB, LMDB and WiredTiger have no call for.
WITH_MORE_WRITES = ("winnow", "rocksdb", "rocksdb_tuned")
RANGES = Setting("ranges", ("--cache_size=256M", "--deletes=50000"), share=0.1, reads=0.5,
                 first=("fillrandom", "compact", "deleterange"))
MERGES = Setting("merges", ("--cache_size=32M",), share=0.4, value_bytes=8)
INGESTION = Setting("ingestion", ("--cache_size=32M",), share=0.4)
OPTIMISTIC = Setting("optimistic", ("--cache_size=256M", "--threads=2",
                                    "--transactions=optimistic"),
                     share=0.2, reads=0.1, first=SETTLED)
PESSIMISTIC = dataclasses.replace(OPTIMISTIC, name="pessimistic",
                                  flags=("--cache_size=256M", "--threads=2",
                                         "--transactions=pessimistic"))

ROWS = (
    Row("readrandom_small", "readrandom, 32 MiB cache", SMALL_CACHE, "readrandom", at_most=1.5,
        times=(("lmdb", 1),)),
    Row("seek_small", "seek + 10, 32 MiB cache", SMALL_CACHE, "seekrandom", at_most=2.6,
        times=(("lmdb", 1),)),
    Row("multireadrandom_small", "multireadrandom 32, 32 MiB cache", SMALL_CACHE, "multireadrandom",
        at_most=1.2),
    Row("multireadrandom", "multireadrandom 32, cached", CACHED, "multireadrandom", at_most=0.35),
    Row("readrandom", "readrandom, cached", CACHED, "readrandom", at_most=0.55),
    Row("readmissing", "readmissing, cached", CACHED, "readmissing", at_most=0.07),
    Row("multireadmissing", "multireadmissing 32, cached", CACHED, "multireadmissing"),
    Row("seek", "seek + 10, cached", CACHED, "seekrandom"),
    Row("readseq", "readseq, cached", CACHED, "readseq"),
    Row("fillrandom", "fillrandom", FILL, "fillrandom", wall_micros, at_most=1.3),
    Row("fillrandom_volume", "fillrandom, bytes written a byte", FILL, "waitforcompaction",
        write_volume, "x"),
    Row("fillrandom_2", "fillrandom, 2 threads", FILL_2, "fillrandom", wall_micros, at_most=0.76),
    Row("fillrandom_2_volume", "fillrandom, 2 threads, bytes written a byte", FILL_2,
        "waitforcompaction", write_volume, "x"),
    Row("tail_p999", "write p99.9, 2 threads", TAIL, "fillrandom", p999, times=(("rocksdb", 1),)),
    Row("tail_longest", "longest write, 2 threads", TAIL, "fillrandom", longest, "ms",
        times=(("rocksdb", 1),)),
    Row("fill100k", "fill, values of 100 KB", FILL_100K, "fillrandom", times=(("leveldb", 1.2),)),
    *(Row(f"ycsb{letter}", f"YCSB {letter.upper()}", YCSB, f"ycsb{letter}",
          times=(("rocksdb", 3), ("leveldb", 2))) for letter in "abcdef"),
    Row("deleterange", "deleterange, of one key each", RANGES, "deleterange",
        engines=WITH_MORE_WRITES),
    Row("readrandom_ranges", "readrandom beside 50,000 deleted ranges", RANGES, "readrandom",
        engines=WITH_MORE_WRITES),
    Row("readmissing_ranges", "readmissing beside 50,000 deleted ranges", RANGES, "readmissing",
        engines=WITH_MORE_WRITES),
    Row("mergerandom", "mergerandom, counters", MERGES, "mergerandom", wall_micros,
        engines=WITH_MORE_WRITES),
    Row("ingest", "ingest, tables written included", INGESTION, "ingest", wall_micros,
        engines=WITH_MORE_WRITES),
    Row("txnrandom_optimistic", "txnrandom, optimistic, 2 threads", OPTIMISTIC, "txnrandom",
        wall_micros, engines=WITH_MORE_WRITES),
    Row("txnrandom_pessimistic", "txnrandom, pessimistic, 2 threads", PESSIMISTIC, "txnrandom",
        wall_micros, engines=WITH_MORE_WRITES),
    Row("ycsbe_leveldb", "YCSB E, LevelDB's interface", YCSB_LEVELDB, "ycsbe",
        times=(("leveldb", 2),), engines=("winnow_leveldb", "leveldb"), subject="winnow_leveldb"),
)
# With ten times --num keys.
LARGE_ROWS = (
    Row("readmissing_large", "readmissing, large, blocks warm", LARGE_CACHED, "readmissing",
        at_most=0.25),
    Row("readmissing_fresh", "readmissing, large, fresh keys", LARGE_FRESH, "readmissing",
        at_most=0.35),
    Row("multireadmissing_fresh", "multireadmissing 32, large, fresh keys", LARGE_FRESH,
        "multireadmissing", at_most=0.12),
    Row("readrandom_large", "readrandom, large, 1 GiB cache", LARGE_READ, "readrandom", at_most=2),
    Row("readrandom_cold", "readrandom, large, cold disk", LARGE_COLD, "readrandom"),
    Row("multireadrandom_cold", "multireadrandom 32, large, cold disk", LARGE_COLD_BATCH,
        "multireadrandom"),
)


def peers_of(row, engines):
    """Those of `engines` that run in this row, its subject first."""
    if row.engines:
        return [name for name in row.engines if name == row.subject or name in engines]
    return [row.subject] + [name for name in PEERS if name in engines
                            and (name != MAPPED or row.setting.is_outside_cache)]


def goal_of(row, medians):
    """What the row's value is to be at most, by its figure and its peers; None without a goal."""
    wanted = [] if row.at_most is None else [row.at_most]
    for peer, factor in row.times:
        values = [medians[name] for name in VARIANTS.get(peer, (peer,)) if medians.get(name)]
        if values:
            wanted.append(min(values) / factor)
    # A peer that is faster than the figure sets the goal; one that is slower does not lower it.
    return min(wanted) if wanted else None
