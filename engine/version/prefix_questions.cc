#include "engine/version/prefix_questions.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/version/files_with_prefix.h"
#include "winnow/filter/filter_key.h"

namespace winnow {

namespace {

// The lines of so many filters are fetched before the first is asked, so that their cache misses
// overlap.
constexpr size_t kQuestionsAtOnce = 64;

class PrefixAsker {
 public:
  PrefixAsker(const Version& version, FilterCounterTable* counters)
      : version_(version), counters_(counters) {}

  void Ask(PrefixAsked* asked) {
    filter::PrefixQuestion question(asked->prefix);
    VisitFilesWithPrefix(version_, asked->prefix, [&](const SstableFile& file, int level) {
      return Add(file, level, &question, asked);
    });
  }

  // After the last. What some file may have will be looked up, and each file's part in it be
  // counted then.
  void Finish() {
    AskPending();
    for (const Rejection& rejection : rejections_) {
      if (!rejection.asked->may_exist) rejection.counters->rejected.Increment();
    }
  }

 private:
  struct Pending {
    const SstableReader* reader;
    PrefixAsked* asked;
    uint64_t hash;
    size_t filter_key_bytes;   // of the prefix
    FilterCounters* counters;  // or null
  };
  struct Rejection {
    const PrefixAsked* asked;
    FilterCounters* counters;
  };

  // False: the prefix need not be asked about any further.
  bool Add(const SstableFile& file, int level, filter::PrefixQuestion* question,
           PrefixAsked* asked) {
    const SstableReader* const reader = file.reader();
    const auto* const part = reader == nullptr || !reader->has_filter()
                                 ? nullptr
                                 : question->For(reader->filter_key(), reader->hash_seed());
    if (part == nullptr) {
      asked->may_exist = true;
      return false;
    }
    if (num_pending_ == pending_.size()) AskPending();
    if (asked->may_exist) return false;
    reader->filter().Prefetch(part->hash);
    FilterCounters* const counters =
        counters_ == nullptr
            ? nullptr
            : counters_->At(level, FilterSlot(file.filter_kind_index(), part->part.category()));
    pending_[num_pending_++] = {reader, asked, part->hash, part->filter_key.size(), counters};
    return true;
  }

  void AskPending() {
    // A filter that is not in memory is not loaded for this, and says "maybe".
    SstableReadOptions without_reading;
    without_reading.fill_cache = false;
    for (size_t i = 0; i < num_pending_; i++) {
      const Pending& pending = pending_[i];
      if (pending.asked->may_exist) continue;
      const std::string_view prefix = pending.asked->prefix;
      pending.asked->may_exist =
          pending.reader->AskFilter(without_reading, pending.hash,
                                    prefix.substr(0, pending.filter_key_bytes)) !=
          FilterAnswer::kNo;
      if (!pending.asked->may_exist && pending.counters != nullptr) {
        rejections_.push_back({pending.asked, pending.counters});
      }
    }
    num_pending_ = 0;
  }

  const Version& version_;
  FilterCounterTable* const counters_;
  std::vector<Rejection> rejections_;
  std::array<Pending, kQuestionsAtOnce> pending_;
  size_t num_pending_ = 0;
};

}  // namespace

void AskForPrefixesInFiles(const Version& version, FilterCounterTable* counters,
                           std::span<PrefixAsked> prefixes) {
  PrefixAsker asker(version, counters);
  for (PrefixAsked& asked : prefixes) {
    if (!asked.may_exist) asker.Ask(&asked);
  }
  asker.Finish();
}

}  // namespace winnow
