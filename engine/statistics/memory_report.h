// What a database takes of memory, as a table for people and as JSON for machines.
#ifndef WINNOW_ENGINE_STATISTICS_MEMORY_REPORT_H_
#define WINNOW_ENGINE_STATISTICS_MEMORY_REPORT_H_

#include <cstdint>
#include <string>

namespace winnow {

// Bytes. Where tables are charged to the cache, blocks and tables together keep within its
// capacity; a cache that several databases share has the blocks of all of them.
struct MemoryUsage {
  uint64_t memtables = 0;           // of all column families, their filters included
  uint64_t held_by_readers = 0;     // of these: flushed, and held by iterators alone
  uint64_t filters = 0;             // of keys, of open SSTables
  uint64_t range_filters = 0;       // of open SSTables
  uint64_t indexes = 0;             // indexes of open SSTables, and what is known of each
  uint64_t block_cache = 0;         // blocks, and what is allocated for more of them
  uint64_t block_cache_table = 0;   // in which blocks are found; in memory as blocks come
  uint64_t row_cache = 0;           // whole answers
  uint64_t row_cache_limit = 0;     // 0: there is no row cache
  uint64_t write_buffer_limit = 0;  // 0: none for all families together
  uint64_t block_cache_capacity = 0;
  uint64_t filter_budget = 0;       // 0: none; else `filters` take nothing of the cache's capacity
  bool tables_are_charged = false;  // to the block cache
  uint64_t tables = 0;
  // Those whose filters and indexes are not in memory but, when they are needed, blocks of the
  // cache; and the bytes that they are.
  uint64_t tables_through_cache = 0;
  uint64_t bytes_through_cache = 0;
  uint64_t filters_not_used = 0;  // too large to be one block of the cache
  uint64_t mapped = 0;            // of SSTables' files; what of it is in memory is the page cache's

  uint64_t sum() const {
    return memtables + filters + range_filters + indexes + block_cache + block_cache_table +
           row_cache;
  }
  // What is known of each table leaves the cache no more than the least that it keeps for blocks.
  bool tables_exceed_cache() const;
};

std::string MemoryTable(const MemoryUsage& usage);
std::string MemoryJson(const MemoryUsage& usage);

}  // namespace winnow

#endif  // WINNOW_ENGINE_STATISTICS_MEMORY_REPORT_H_
