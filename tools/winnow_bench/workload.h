// The benchmarks by name: what one thread does in each.
#ifndef WINNOW_TOOLS_WINNOW_BENCH_WORKLOAD_H_
#define WINNOW_TOOLS_WINNOW_BENCH_WORKLOAD_H_

#include <span>
#include <string_view>
#include <vector>

#include "tools/winnow_bench/worker.h"

namespace winnow::bench {

enum class WorkloadKind {
  kFill,         // starts from an empty database, unless --use_existing_db
  kWrite,        // changes what is there
  kRead,         // repeatable: warmed up, and run again on the same database
  kMixed,        // reads and writes
  kMaintenance,  // one call for the whole database, by one thread
  kReport,       // prints what the engine says; not timed
};

struct Workload {
  std::string_view name;
  WorkloadKind kind;
  std::string_view description;
  void (*run)(Worker& worker);
  bool counts_found = false;                  // the result line says (N of M found)
  bool forces_sync = false;                   // as if --sync
  void (*disturb)(Worker& worker) = nullptr;  // one more thread does this until the others are done
  bool has_transactions = false;              // for which rocksdb is opened in its own way
};

// All of them, in the order of --help.
std::span<const Workload> Workloads();
std::vector<std::string_view> WorkloadNames();
// Null if there is none of that name.
const Workload* FindWorkload(std::string_view name);

// The calls of the trace that --replay names.
void Replay(Worker& worker);

// The core workloads of YCSB (Cooper et al., "Benchmarking Cloud Serving Systems with YCSB", 2010).
void RunYcsbA(Worker& worker);
void RunYcsbB(Worker& worker);
void RunYcsbC(Worker& worker);
void RunYcsbD(Worker& worker);
void RunYcsbE(Worker& worker);
void RunYcsbF(Worker& worker);

}  // namespace winnow::bench

#endif  // WINNOW_TOOLS_WINNOW_BENCH_WORKLOAD_H_
