// Random options of a database that must not change what it answers.
#ifndef WINNOW_TESTS_ENGINE_METAMORPHIC_OPTION_SET_H_
#define WINNOW_TESTS_ENGINE_METAMORPHIC_OPTION_SET_H_

#include <cstdint>
#include <random>
#include <string>

#include "winnow/ingest.h"
#include "winnow/options.h"

namespace winnow::metamorphic {

// Everything that one replay decides for itself. The same seed makes the same decisions.
class OptionSet {
 public:
  explicit OptionSet(uint64_t seed);

  // On the operating system's files instead of in memory.
  bool on_disk() const { return on_disk_; }
  // With a filter policy of the user's own.
  bool own_filters() const { return own_filters_; }

  // For opening the database at the operation with this number. The file system is not set.
  Options ForOpening(uint64_t operation_number) const;
  ColumnFamilyOptions ForFamily(uint64_t operation_number) const;
  ReadOptions ForReading(uint64_t operation_number) const;
  WriteOptions ForWriting(uint64_t operation_number) const;
  struct Filter {
    std::string filter;
    std::string filter_key;
  };
  Filter ForSetFilter(uint64_t operation_number) const;
  // Texts of all options that may change while the database is open, but for the time to live,
  // which changes what reads see.
  std::vector<std::pair<std::string, std::string>> ForSetOptions(uint64_t operation_number) const;
  // Of entries that are to be ingested: whether they are written as a batch instead, which must
  // come to the same, and else how.
  struct Ingestion {
    bool as_batch = false;
    bool by_database = false;  // the tables are written by DB::NewSstWriter
    size_t keys_each = 0;      // of each of several ingestions, one after the other; 0: all at once
    IngestOptions options;
  };
  Ingestion ForIngest(uint64_t operation_number) const;
  // Of updates that take effect together, how: it must come to the same.
  enum class Together { kBatch, kIndexedBatch, kOptimistic, kPessimistic };
  Together ForTransact(uint64_t operation_number) const;
  bool OpensCheckpointReadOnly(uint64_t operation_number) const;

  // One line for a report: what the database is first opened with.
  std::string ToString() const;

 private:
  std::string FittingFilter(const std::string& filter) const;
  // Randomness of one decision, which does not depend on the other operations of the log.
  std::mt19937_64 RandomFor(uint64_t operation_number) const;

  uint64_t seed_;
  bool on_disk_ = false;
  bool own_filters_ = false;  // a FilterPolicy instead of Winnow's kinds
  uint64_t filter_memory_budget_ = 0;
};

}  // namespace winnow::metamorphic

#endif  // WINNOW_TESTS_ENGINE_METAMORPHIC_OPTION_SET_H_
