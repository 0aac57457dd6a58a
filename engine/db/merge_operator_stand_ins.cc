#include "engine/db/merge_operator_stand_ins.h"

#include <memory>
#include <utility>

#include "engine/base/missing_merge_operator.h"
#include "winnow/merge_operator.h"

namespace winnow {

namespace {

// Another family's operator is none that the options give.
const MergeOperator* OperatorOf(const Options& options, const std::string& family) {
  if (family == "default") return options.merge_operator.get();
  const auto named = options.column_families.find(family);
  return named == options.column_families.end() ? nullptr : named->second.merge_operator.get();
}

}  // namespace

MissingMergeOperators MergeOperatorsMissingIn(const Options& options,
                                              const RecordedOptions& recorded) {
  MissingMergeOperators missing;
  for (const RecordedOptions::Family& family : recorded.families) {
    if (family.merge_operator.empty() || ParseMergeOperator(family.merge_operator).ok()) continue;
    // One of another name is left to the opening, which refuses it with both names.
    if (OperatorOf(options, family.name) != nullptr) continue;
    missing[family.name] = family.merge_operator;
  }
  return missing;
}

void AddMergeOperatorStandIns(const MissingMergeOperators& missing, Options* options) {
  // What families inherit that the options do not name yet is the default's without its stand-in.
  const ColumnFamilyOptions inherited = *options;
  for (const auto& [family, name] : missing) {
    std::shared_ptr<const MergeOperator> stand_in = MergeOperatorStandIn(name);
    if (family == "default") {
      options->merge_operator = std::move(stand_in);
      continue;
    }
    const auto [named, is_new] = options->column_families.try_emplace(family, inherited);
    // A family that the options do not name keeps its own time to live.
    if (is_new) named->second.ttl_seconds.reset();
    named->second.merge_operator = std::move(stand_in);
  }
}

}  // namespace winnow
