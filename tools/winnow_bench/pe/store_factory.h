// How a store's source file makes itself known to store.cc.
#ifndef WINNOW_TOOLS_WINNOW_BENCH_PE_STORE_FACTORY_H_
#define WINNOW_TOOLS_WINNOW_BENCH_PE_STORE_FACTORY_H_

#include "tools/winnow_bench/pe/store.h"

namespace winnow::bench::pe {

extern const RowStoreFactory kTablesFactory;       // store_tables.cc
extern const RowStoreFactory kRawFactory;          // store_raw.cc
extern const RowStoreFactory kRocksDbRowsFactory;  // store_rocksdb.cc, where it was found

}  // namespace winnow::bench::pe

#endif  // WINNOW_TOOLS_WINNOW_BENCH_PE_STORE_FACTORY_H_
