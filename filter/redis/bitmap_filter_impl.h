// The inside of BitmapFilter, which BitmapRebuild uses too.

#ifndef WINNOW_FILTER_REDIS_BITMAP_FILTER_IMPL_H_
#define WINNOW_FILTER_REDIS_BITMAP_FILTER_IMPL_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "filter/base/mutex.h"
#include "filter/redis/bitmap_state.h"
#include "filter/redis/query_counter.h"

namespace winnow::filter::redis {

class BitmapFilter::Impl {
 public:
  Impl(Client* client, std::string_view name, const BitmapFilterOptions& options)
      : client_(client), options_(options), keys_(BitmapKeys(name, options.rule)) {}

  // A script of this filter, alone.
  absl::StatusOr<Reply> Run(const Script& script, const std::vector<std::string>& arguments);

  // The same for one that begins to replace or remove the filter: only if it is one, or nothing is
  // there. FailedPrecondition names what is there instead.
  absl::StatusOr<Reply> RunIfOurs(const Script& script, const std::vector<std::string>& arguments);
  // As scripts have it: up to how many bytes a string without configuration is such a filter.
  std::string MostBytesOfOurs() const;
  // FailedPrecondition, naming it, if the script has found something else under the name.
  absl::Status CheckHolder(const Reply& reply) const;

  // The configuration as it is now, or as it was when it was last looked at.
  absl::StatusOr<std::vector<Reply>> Describe();
  absl::StatusOr<std::shared_ptr<const BitmapLayout>> Layout() ABSL_LOCKS_EXCLUDED(mutex_);
  void ForgetLayout() ABSL_LOCKS_EXCLUDED(mutex_);

  void MayContain(std::span<const std::string_view> keys, std::vector<bool>* answers);

  // What a write does besides adding, and the notes that it left or is to remove.
  enum class WriteMode { kAdd, kBegin, kEnd };
  absl::StatusOr<uint64_t> Write(std::span<const std::string_view> keys, WriteMode mode,
                                 std::vector<std::string>* ids);

  Client* client() const { return client_; }
  const BitmapFilterOptions& options() const { return options_; }
  const std::vector<std::string>& keys() const { return keys_; }
  const std::string& name() const { return keys_[kBitsKey]; }
  QueryCounter* counter() { return &counter_; }

 private:
  // Positions of keys that are still to be asked or added.
  using Positions = std::vector<size_t>;

  // One round over `*left`; takes out what was done. Aborted: some were refused since the
  // configuration has changed.
  absl::Status QueryRound(std::span<const std::string_view> keys, const BitmapLayout& layout,
                          Positions* left, std::vector<bool>* answers);
  absl::Status WriteRound(std::span<const std::string_view> keys, const BitmapLayout& layout,
                          WriteMode mode, Positions* left, std::vector<std::string>* ids,
                          uint64_t* added);
  void AppendWrite(std::span<const std::string_view> keys, const BitmapLayout& layout,
                   WriteMode mode, const std::string& id, Request* request) const;
  // Rounds until nothing is left, with the configuration read again between them.
  template <typename Round>
  absl::Status InRounds(Positions* left, Round round);

  Client* const client_;
  const BitmapFilterOptions options_;
  const std::vector<std::string> keys_;
  QueryCounter counter_;

  Mutex mutex_;
  std::shared_ptr<const BitmapLayout> layout_ ABSL_GUARDED_BY(mutex_);  // null: to be read
};

}  // namespace winnow::filter::redis

#endif  // WINNOW_FILTER_REDIS_BITMAP_FILTER_IMPL_H_
