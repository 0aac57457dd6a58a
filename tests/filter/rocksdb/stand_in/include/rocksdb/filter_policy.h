#pragma once
#include <memory>
#include <string>

#include "status.h"

namespace ROCKSDB_NAMESPACE {
class FilterBitsBuilder;
class FilterBitsReader;
class Logger;
struct BlockBasedTableOptions;

enum CompactionStyle : char { kCompactionStyleLevel, kCompactionStyleUniversal };

struct FilterBuildingContext {
  explicit FilterBuildingContext(const BlockBasedTableOptions& options) : table_options(options) {}
  const BlockBasedTableOptions& table_options;
  CompactionStyle compaction_style = kCompactionStyleLevel;
  int num_levels = -1;
  Logger* info_log = nullptr;
  std::string column_family_name;
  int level_at_creation = -1;
  bool is_bottommost = false;
};

class Customizable {
 public:
  virtual ~Customizable() = default;
  virtual const char* Name() const = 0;
  virtual std::string GetId() const { return Name(); }
};

class FilterPolicy : public Customizable {
 public:
  static const char* Type() { return "FilterPolicy"; }
  virtual const char* CompatibilityName() const = 0;
  virtual FilterBitsBuilder* GetBuilderWithContext(const FilterBuildingContext&) const = 0;
  virtual FilterBitsReader* GetFilterBitsReader(const Slice& contents) const = 0;
};

// A policy that builds and reads nothing.
const FilterPolicy* NewBloomFilterPolicy(double bits_per_key,
                                         bool IGNORED_use_block_based_builder = false);
}  // namespace ROCKSDB_NAMESPACE
