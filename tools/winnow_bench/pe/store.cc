#include "tools/winnow_bench/pe/store.h"

#include "absl/strings/str_cat.h"
#include "tools/winnow_bench/pe/store_factory.h"

namespace winnow::bench::pe {

std::string FamilyName(uint64_t index) { return absl::StrCat("info", index); }
std::string ColumnName(uint64_t index) { return absl::StrCat(index); }

std::vector<const RowStoreFactory*> RowStores() {
  return {
      &kTablesFactory,
      &kRawFactory,
#ifdef WINNOW_BENCH_ROCKSDB
      &kRocksDbRowsFactory,
#endif
  };
}

const RowStoreFactory* FindRowStore(std::string_view name) {
  for (const RowStoreFactory* store : RowStores()) {
    if (store->name == name) return store;
  }
  return nullptr;
}

}  // namespace winnow::bench::pe
