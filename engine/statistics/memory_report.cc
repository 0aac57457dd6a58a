#include "engine/statistics/memory_report.h"

#include "absl/strings/str_cat.h"
#include "engine/cache/block_cache.h"
#include "engine/statistics/text_table.h"

namespace winnow {

bool MemoryUsage::tables_exceed_cache() const {
  // Under a budget filters have memory of their own, and take none of the cache's.
  return tables_are_charged &&
         (filter_budget == 0 ? filters : 0) + range_filters + indexes >
             block_cache_capacity - ShardedBlockCache::LeastForBlocks(block_cache_capacity);
}

std::string MemoryTable(const MemoryUsage& usage) {
  TextTable table({"part", "bytes", "bound"}, 1);
  const auto add = [&table](const char* part, uint64_t bytes, const std::string& bound = "") {
    table.AddRow({part, FormatCount(bytes), bound});
  };
  const std::string capacity = FormatCount(usage.block_cache_capacity);
  add("memtables", usage.memtables,
      usage.write_buffer_limit == 0 ? "" : FormatCount(usage.write_buffer_limit));
  // A part of the row above, and so of the sum only once.
  add("  of these, held by iterators", usage.held_by_readers);
  // What is charged to the cache shares the bound of its blocks.
  const std::string with_blocks = usage.tables_are_charged ? "with blocks" : "";
  add("filters of SSTables", usage.filters,
      usage.filter_budget == 0 ? with_blocks : FormatCount(usage.filter_budget));
  // Rows of what few databases have are left out of the table where it is not there; JSON has all.
  if (usage.range_filters > 0) add("range filters of SSTables", usage.range_filters, with_blocks);
  add("indexes of SSTables", usage.indexes, with_blocks);
  add("block cache", usage.block_cache, capacity);
  add("block cache's table", usage.block_cache_table);
  if (usage.row_cache_limit > 0) {
    add("row cache", usage.row_cache, FormatCount(usage.row_cache_limit));
  }
  add("sum", usage.sum());
  std::string text = table.ToString();
  // Whoever sees a sum over its bound should not have to guess why.
  if (usage.tables_exceed_cache()) {
    absl::StrAppend(&text, "filters and indexes take more than the block cache has to give: ",
                    "the sum is over its bound\n");
  }
  if (usage.tables_through_cache > 0) {
    absl::StrAppend(&text, "filters and indexes of ", FormatCount(usage.tables_through_cache),
                    " of ", FormatCount(usage.tables),
                    " tables are read through the block cache, for want of room: ",
                    FormatCount(usage.bytes_through_cache), " bytes\n");
  }
  if (usage.mapped > 0) {
    absl::StrAppend(&text, "besides, SSTables are mapped into memory: ", FormatCount(usage.mapped),
                    " bytes, as far as the system's page cache has them\n");
  }
  if (usage.filters_not_used > 0) {
    absl::StrAppend(&text, "filters of ", FormatCount(usage.filters_not_used),
                    " tables are not used, for want of room in the block cache\n");
  }
  return text;
}

std::string MemoryJson(const MemoryUsage& usage) {
  return absl::StrCat(
      "{\"memtables\":", usage.memtables, ",\"held_by_iterators\":", usage.held_by_readers,
      ",\"filters\":", usage.filters, ",\"range_filters\":", usage.range_filters,
      ",\"indexes\":", usage.indexes, ",\"block_cache\":", usage.block_cache,
      ",\"block_cache_table\":", usage.block_cache_table, ",\"row_cache\":", usage.row_cache,
      ",\"sum\":", usage.sum(), ",\"write_buffer_limit\":", usage.write_buffer_limit,
      ",\"block_cache_capacity\":", usage.block_cache_capacity,
      ",\"filter_budget\":", usage.filter_budget, ",\"tables\":", usage.tables,
      ",\"tables_through_cache\":", usage.tables_through_cache,
      ",\"bytes_through_cache\":", usage.bytes_through_cache,
      ",\"filters_not_used\":", usage.filters_not_used, ",\"mapped\":", usage.mapped,
      ",\"tables_exceed_cache\":", usage.tables_exceed_cache() ? "true" : "false", "}");
}

}  // namespace winnow
