// A generation filled beside the one that serves.
//
// Why no key is lost whose row was committed, whoever dies:
// 1. From StartRebuild on a writer's script adds to both generations, or is refused and sent again:
//    it names the rebuild that it has computed offsets for.
// 2. A writer that began before StartRebuild and has not ended has a note, which Finish adds; if it
//    ends meanwhile, its EndWrite adds to both before the note goes. Notes outlive their filter by
//    a day, so that the one that is made next has them too.
// 3. A row that was committed, and whose writer had ended, before StartRebuild is visible to the
//    scan, which begins later.
// 4. Whoever takes the lease after a rebuild that died gives it another token: the dead one's
//    scripts, should it live, change nothing.

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "filter/base/out_of_memory.h"
#include "filter/redis/bitmap_filter_impl.h"

namespace winnow::filter::redis {
namespace {

// Fewer than for queries: a rebuild is in no hurry, and others wait while the server works through
// a batch.
constexpr size_t kMaxFillScripts = 16;  // in one round trip
constexpr uint64_t kUploadBytes = uint64_t{1} << 20;
constexpr uint64_t kMaxNotePages = 1'000'000;  // kMaxOpenWrites, if there were one on each
// A note has the keys of a whole script, perhaps a megabyte: a page of them must be no longer than
// ClientOptions::max_reply_bytes.
constexpr std::string_view kNotesOfPage = "10";

absl::Status LostError(const std::string& name) {
  return absl::AbortedError(absl::StrCat(
      name,
      ": this rebuild is lost: its lease has ended, another has begun, or the filter is gone"));
}

// A time that the server cannot add to its own would leave a rebuild behind that never ends.
std::string LeaseText(const RebuildOptions& options) {
  return absl::StrCat(std::min(options.lease, kLongestTtl).count());
}

}  // namespace

class BitmapRebuild::Impl {
 public:
  Impl(BitmapFilter::Impl* filter, const RedisBitmapShape& shape, const RebuildOptions& options,
       std::string token, uint64_t number)
      : filter_(filter),
        shape_(shape),
        options_(options),
        token_(std::move(token)),
        number_(number) {}

  absl::Status Add(std::span<const std::string_view> keys);
  absl::Status AddAll(const RedisBitmap& bitmap);
  absl::Status Finish();
  absl::Status Run(const Script& script, const std::vector<std::string>& arguments);

  std::string lease() const { return LeaseText(options_); }
  std::string bytes() const { return absl::StrCat(BytesOf(shape_)); }
  const std::string& token() const { return token_; }
  uint64_t number() const { return number_; }

 private:
  absl::Status Check(const Reply& reply) const;
  // Adds the keys of all notes; gives the ids of those that are too old to be of living writers.
  absl::StatusOr<std::vector<std::string>> AddNotes();
  absl::StatusOr<uint64_t> ServerMillis();
  absl::Status RemoveNotes(const std::vector<std::string>& ids);

  BitmapFilter::Impl* const filter_;
  const RedisBitmapShape shape_;
  const RebuildOptions options_;
  const std::string token_;
  const uint64_t number_;
};

absl::Status BitmapRebuild::Impl::Check(const Reply& reply) const {
  const absl::StatusOr<std::string> word = WordOf(reply);
  if (!word.ok()) return word.status();
  if (*word == "ok") return absl::OkStatus();
  const absl::Status foreign = filter_->CheckHolder(reply);
  return foreign.ok() ? LostError(filter_->name()) : foreign;
}

absl::Status BitmapRebuild::Impl::Run(const Script& script,
                                      const std::vector<std::string>& arguments) {
  const absl::StatusOr<Reply> reply = filter_->Run(script, arguments);
  return reply.ok() ? Check(*reply) : reply.status();
}

// Each script compares the token, so that a rebuild that was lost stops at the next batch. Setting
// bits again is harmless: after an error the caller may send the same keys once more.
absl::Status BitmapRebuild::Impl::Add(std::span<const std::string_view> keys) {
  const size_t stride = KeysOfScript(static_cast<size_t>(shape_.num_probes));
  while (!keys.empty()) {
    Request request;
    for (size_t i = 0; i < kMaxFillScripts && !keys.empty(); ++i) {
      const size_t count = std::min(stride, keys.size());
      request.BeginScript(FillScript(), filter_->keys(), 4);
      request.Append(token_);
      request.Append(lease());
      request.Append(bytes());
      request.Append(PackOffsets(shape_, keys.first(count)));
      keys = keys.subspan(count);
    }
    const absl::StatusOr<std::vector<Reply>> replies =
        filter_->client()->Execute(filter_->name(), request);
    if (!replies.ok()) return replies.status();
    for (const Reply& reply : *replies) {
      const absl::Status status = Check(reply);
      if (!status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

absl::Status BitmapRebuild::Impl::AddAll(const RedisBitmap& bitmap) {
  if (bitmap.shape() != shape_) {
    return absl::InvalidArgumentError(
        absl::StrCat(filter_->name(), ": the filter to be added has another shape"));
  }
  // Without zeros at the end, which the next generation has from its beginning.
  const std::string value = bitmap.ToString();
  absl::Status status;
  for (uint64_t at = 0; at < value.size() && status.ok(); at += kUploadBytes) {
    status =
        Run(UploadScript(), {token_, lease(), absl::StrCat(at), value.substr(at, kUploadBytes)});
  }
  if (!status.ok()) return status;
  if (value.empty()) return Run(FillScript(), {token_, lease(), bytes()});  // is it lost?
  return Run(UniteScript(), {token_, lease(), absl::StrCat(value.size())});
}

// The server's clock, which the notes' times are of: clocks of writers may differ by more than a
// write takes. Asked before the notes are read, so that a note can only seem younger than it is.
absl::StatusOr<uint64_t> BitmapRebuild::Impl::ServerMillis() {
  Request request;
  request.Command({"TIME"});
  const absl::StatusOr<Reply> time = filter_->client()->ExecuteOne(filter_->name(), request);
  if (!time.ok()) return time.status();
  uint64_t seconds = 0;
  if (time->elements.empty() || !absl::SimpleAtoi(time->elements[0].text, &seconds)) {
    return absl::DataLossError("Redis: TIME gives no time");
  }
  return seconds * 1000;
}

// HSCAN gives every note that is there from its beginning to its end. Those that come later are of
// writers that add to both generations, as do those that go.
absl::StatusOr<std::vector<std::string>> BitmapRebuild::Impl::AddNotes() {
  const absl::StatusOr<uint64_t> now = ServerMillis();
  if (!now.ok()) return now.status();
  std::vector<std::string> old_ids;
  std::string cursor = "0";
  uint64_t num_pages = 0;
  do {
    // A server that never comes to an end is none.
    if (++num_pages > kMaxNotePages) return absl::DataLossError("Redis: HSCAN does not end");
    Request request;
    request.Command({"HSCAN", filter_->keys()[kNotesKey], cursor, "COUNT", kNotesOfPage});
    const absl::StatusOr<Reply> page = filter_->client()->ExecuteOne(filter_->name(), request);
    if (!page.ok()) return page.status();
    if (page->elements.size() != 2) return absl::DataLossError("Redis: HSCAN gives no page");
    cursor = page->elements[0].text;
    // Ids and texts by turns. HSCAN may give a note twice: adding it again changes nothing.
    const std::vector<Reply>& notes = page->elements[1].elements;
    for (size_t i = 0; i + 1 < notes.size(); i += 2) {
      const absl::StatusOr<OpenWrite> write = ParseNote(notes[i + 1].text);
      // A note that cannot be read is of keys that are not known: to finish without them could lose
      // a row.
      if (!write.ok()) return write.status();
      const absl::Status added =
          Add(std::vector<std::string_view>(write->keys.begin(), write->keys.end()));
      if (!added.ok()) return added;
      const auto age = static_cast<int64_t>(*now) - static_cast<int64_t>(write->begun_millis);
      // Signed: a note that came after `now` was read is of negative age.
      if (age > options_.max_write_time.count()) old_ids.push_back(notes[i].text);
    }
  } while (cursor != "0");
  return old_ids;
}

// Called after the commit alone: had the rebuild been lost, the notes would be all that is known of
// these keys. By id, so that notes that came meanwhile stay.
absl::Status BitmapRebuild::Impl::RemoveNotes(const std::vector<std::string>& ids) {
  for (size_t begin = 0; begin < ids.size(); begin += kMaxArguments - 2) {
    const size_t count = std::min(ids.size() - begin, kMaxArguments - 2);
    Request request;
    request.Begin(2 + count);
    request.Append("HDEL");
    request.Append(filter_->keys()[kNotesKey]);
    for (size_t i = begin; i < begin + count; ++i) request.Append(ids[i]);
    const absl::Status status = filter_->client()->ExecuteOne(filter_->name(), request).status();
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status BitmapRebuild::Impl::Finish() {
  // Before the commit: from then on readers rely on this generation. A writer that leaves a note
  // after its page was read has seen the token, and adds to both.
  const absl::StatusOr<std::vector<std::string>> old_ids = AddNotes();
  if (!old_ids.ok()) return old_ids.status();
  const std::string ttl =
      options_.ttl.has_value() ? absl::StrCat(WithJitter(*options_.ttl, options_.ttl_jitter)) : "";
  const absl::Status committed =
      Run(CommitScript(), {token_, bytes(), std::string(RedisBitmapRuleName(shape_.rule)),
                           absl::StrCat(shape_.num_bits), absl::StrCat(shape_.num_probes), ttl,
                           absl::StrCat(options_.expected_insertions), JavaDouble(options_.fpr),
                           filter_->MostBytesOfOurs()});
  // Also after an error, which may hide that the script has run.
  filter_->ForgetLayout();
  return committed.ok() ? RemoveNotes(*old_ids) : committed;
}

// The scan must begin after this has returned: writers who ended before are in the rows, all others
// are refused until they know of the rebuild, or have left a note.
absl::StatusOr<std::unique_ptr<BitmapRebuild>> BitmapFilter::StartRebuild(
    const RedisBitmapShape& shape, const RebuildOptions& options) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::unique_ptr<BitmapRebuild>> {
    const absl::Status status = CheckRedisBitmapShape(shape);
    if (!status.ok()) return status;
    if (shape.rule != rule() || options.lease.count() <= 0) {
      return absl::InvalidArgumentError(
          "Redis filter: the shape is of another rule, or the lease not above 0");
    }
    if (BytesOf(shape) > options.max_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat(name(), ": ", BytesOf(shape), " bytes, allowed are ", options.max_bytes));
    }
    const absl::StatusOr<Reply> reply = impl_->RunIfOurs(
        StartScript(), {UniqueDigits(), LeaseText(options), absl::StrCat(shape.num_bits),
                        absl::StrCat(shape.num_probes), absl::StrCat(BytesOf(shape))});
    if (!reply.ok()) return reply.status();
    const absl::StatusOr<std::string> word = WordOf(*reply);
    if (!word.ok()) return word.status();
    if (*word == "missing") {
      return absl::NotFoundError(
          absl::StrCat(name(), ": there is no such filter; create it first"));
    }
    if (*word == "busy" && reply->elements.size() == 2) {
      return absl::UnavailableError(
          absl::StrCat(name(), ": another rebuild is under way; its lease ends in ",
                       reply->elements[1].integer, " ms if it does nothing"));
    }
    if (*word != "ok" || reply->elements.size() != 3) {
      return absl::DataLossError("Redis: an answer that the script does not give");
    }
    // Saves this process's writers one refusal; all others learn of the rebuild by being refused.
    impl_->ForgetLayout();
    return std::unique_ptr<BitmapRebuild>(new BitmapRebuild(
        std::make_unique<BitmapRebuild::Impl>(impl_.get(), shape, options, reply->elements[1].text,
                                              static_cast<uint64_t>(reply->elements[2].integer))));
  });
}

BitmapRebuild::BitmapRebuild(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
BitmapRebuild::~BitmapRebuild() = default;

absl::Status BitmapRebuild::Add(std::span<const std::string_view> keys) {
  return CatchOutOfMemory([&]() -> absl::Status { return impl_->Add(keys); });
}
absl::Status BitmapRebuild::AddAll(const RedisBitmap& bitmap) {
  return CatchOutOfMemory([&]() -> absl::Status { return impl_->AddAll(bitmap); });
}
absl::Status BitmapRebuild::Renew() {
  return CatchOutOfMemory([&]() -> absl::Status {
    return impl_->Run(FillScript(), {impl_->token(), impl_->lease(), impl_->bytes()});
  });
}
absl::Status BitmapRebuild::Finish() {
  return CatchOutOfMemory([&]() -> absl::Status { return impl_->Finish(); });
}
absl::Status BitmapRebuild::Abandon() {
  return CatchOutOfMemory([&]() -> absl::Status {
    const absl::Status status = impl_->Run(AbandonScript(), {impl_->token()});
    // Lost is given up as well: nothing of it is left in Redis under this token.
    return absl::IsAborted(status) ? absl::OkStatus() : status;
  });
}
uint64_t BitmapRebuild::fencing_token() const { return impl_->number(); }

}  // namespace winnow::filter::redis
