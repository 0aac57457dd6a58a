#include "winnow/filter/redis/bitmap_filter.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "filter/base/out_of_memory.h"
#include "filter/base/shown_text.h"
#include "filter/redis/bitmap_filter_impl.h"
#include "filter/redis/key_slot.h"

namespace winnow::filter::redis {
namespace {

// Between two rounds the filter must have been rebuilt, or a rebuild have begun or ended: more than
// so many in one call is another trouble.
constexpr int kMaxRounds = 8;
// Notes of writers that died stay until a rebuild; this bounds what they take, and what a rebuild
// reads.
constexpr uint64_t kMaxOpenWrites = 1'000'000;
// Pieces of a download: no reply is larger than one, and no round trip has more than kPieces.
constexpr uint64_t kPieceBytes = uint64_t{1} << 20;
constexpr size_t kPieces = 16;

absl::Status ChangedTooOften(const std::string& name) {
  return absl::AbortedError(
      absl::StrCat(name, ": its configuration changed in each of ", kMaxRounds, " attempts"));
}

absl::Status MissingError(const std::string& name) {
  return absl::NotFoundError(
      absl::StrCat(name, ": there is no such filter, it has expired, or its string is not whole"));
}

std::vector<size_t> AllPositions(size_t count) {
  std::vector<size_t> positions(count);
  std::iota(positions.begin(), positions.end(), size_t{0});
  return positions;
}

// The keys at positions [begin, begin + count).
std::vector<std::string_view> KeysAt(std::span<const std::string_view> keys,
                                     const std::vector<size_t>& positions, size_t begin,
                                     size_t count) {
  std::vector<std::string_view> chosen;
  for (size_t i = begin; i < std::min(begin + count, positions.size()); ++i) {
    chosen.push_back(keys[positions[i]]);
  }
  return chosen;
}

size_t CountOf(const RedisBitmapShape& shape) { return static_cast<size_t>(shape.num_probes); }

// Fields of Redisson's that its users may have written otherwise, and a time to live of -1 or -2,
// which is none, count as 0.
uint64_t NumberIn(const std::vector<Reply>& fields, DescribedField field) {
  uint64_t value = 0;
  return absl::SimpleAtoi(fields[field].text, &value) ? value : 0;
}

}  // namespace

absl::StatusOr<Reply> BitmapFilter::Impl::Run(const Script& script,
                                              const std::vector<std::string>& arguments) {
  Request request;
  request.BeginScript(script, keys_, arguments.size());
  for (const std::string& argument : arguments) request.Append(argument);
  return client_->ExecuteOne(name(), request);
}

absl::StatusOr<Reply> BitmapFilter::Impl::RunIfOurs(const Script& script,
                                                    const std::vector<std::string>& arguments) {
  const std::string rule(RedisBitmapRuleName(options_.rule));
  std::vector<std::string> all = {rule, MostBytesOfOurs()};
  all.insert(all.end(), arguments.begin(), arguments.end());
  absl::StatusOr<Reply> reply = Run(script, all);
  if (!reply.ok()) return reply;
  const absl::Status status = CheckHolder(*reply);
  if (!status.ok()) return status;
  return reply;
}

// -1 is a length that no string is below: without a shape only a configuration makes a string ours.
std::string BitmapFilter::Impl::MostBytesOfOurs() const {
  const auto& shape = options_.shape_without_configuration;
  return shape.has_value() ? absl::StrCat(BytesOf(*shape)) : "-1";
}

absl::Status BitmapFilter::Impl::CheckHolder(const Reply& reply) const {
  const absl::StatusOr<std::string> word = WordOf(reply);
  if (!word.ok()) return word.status();
  if (*word != "foreign" || reply.elements.size() != 2) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(name(), ": there is ", reply.elements[1].text, " under this name, no filter of ",
                   std::string(RedisBitmapRuleName(options_.rule))));
}

absl::StatusOr<std::vector<Reply>> BitmapFilter::Impl::Describe() {
  absl::StatusOr<Reply> reply = Run(DescribeScript(), {});
  if (!reply.ok()) return reply.status();
  const absl::StatusOr<std::string> word = WordOf(*reply);
  if (!word.ok()) return word.status();
  // What the script gives, a server may not: ParseLayout takes the fields by position.
  const bool all_strings =
      std::all_of(reply->elements.begin(), reply->elements.end(),
                  [](const Reply& field) { return field.type == Reply::Type::kString; });
  if (reply->elements.size() != kNumDescribedFields || !all_strings) {
    return absl::DataLossError("Redis: an answer that the script does not give");
  }
  return std::move(reply->elements);
}

// Read once and believed until a script refuses it: scripts compare the stamp, so that offsets
// computed for another shape never reach the string.
absl::StatusOr<std::shared_ptr<const BitmapLayout>> BitmapFilter::Impl::Layout() {
  {
    const MutexLock lock(&mutex_);
    if (layout_ != nullptr) return layout_;
  }
  const absl::StatusOr<std::vector<Reply>> fields = Describe();
  if (!fields.ok()) return fields.status();
  absl::StatusOr<BitmapLayout> layout = ParseLayout(*fields, options_, name());
  if (!layout.ok()) return layout.status();
  // Two threads may both have read it, and the older one may come last: its stamp is then refused
  // once, and it is read again.
  auto shared = std::make_shared<const BitmapLayout>(*std::move(layout));
  const MutexLock lock(&mutex_);
  layout_ = shared;
  return shared;
}

void BitmapFilter::Impl::ForgetLayout() {
  const MutexLock lock(&mutex_);
  layout_ = nullptr;
}

// A round may be refused in part, when the filter is rebuilt between two scripts; what was done
// stays done, and the rest goes on under the new configuration.
template <typename Round>
absl::Status BitmapFilter::Impl::InRounds(Positions* left, Round round) {
  // Invariant: `*left` are the positions that no script has answered or added yet; a round takes
  // out what it has done, even if it ends with Aborted.
  for (int i = 0; i < kMaxRounds; ++i) {
    const absl::StatusOr<std::shared_ptr<const BitmapLayout>> layout = Layout();
    if (!layout.ok()) return layout.status();
    const absl::Status status = round(**layout);
    if (!absl::IsAborted(status)) {
      // What is missing may be made again with another shape.
      if (absl::IsNotFound(status)) ForgetLayout();
      return status;
    }
    ForgetLayout();
    if (left->empty()) return absl::OkStatus();
  }
  return ChangedTooOften(name());
}

absl::Status BitmapFilter::Impl::QueryRound(std::span<const std::string_view> keys,
                                            const BitmapLayout& layout, Positions* left,
                                            std::vector<bool>* answers) {
  const size_t stride = KeysOfScript(CountOf(layout.shape));
  const size_t count = std::min(left->size(), stride * kMaxScripts);
  Request request;
  for (size_t begin = 0; begin < count; begin += stride) {
    const std::vector<std::string_view> chosen =
        KeysAt(keys, *left, begin, std::min(stride, count - begin));
    request.BeginScript(QueryScript(), std::span(keys_).first(kNumQueryKeys), 4);
    request.Append(layout.stamp);
    request.Append(layout.least_bytes_to_query);
    request.Append(CountOf(layout.shape));
    request.Append(PackOffsets(layout.shape, chosen));
  }
  const absl::StatusOr<std::vector<Reply>> replies = client_->Execute(name(), request);
  if (!replies.ok()) return replies.status();
  // Each script answers for its own stretch of `*left`: '0' and '1' in the order of its keys.
  Positions refused;
  for (size_t i = 0; i < replies->size(); ++i) {
    const size_t begin = i * stride;
    const size_t end = std::min(begin + stride, count);
    const absl::StatusOr<std::string> word = WordOf((*replies)[i]);
    if (!word.ok()) return word.status();
    if (*word == "missing") return MissingError(name());
    if (*word == "changed") {
      refused.insert(refused.end(), left->begin() + static_cast<std::ptrdiff_t>(begin),
                     left->begin() + static_cast<std::ptrdiff_t>(end));
      continue;
    }
    if (*word != "ok" || (*replies)[i].elements.size() != 2 ||
        (*replies)[i].elements[1].text.size() != end - begin) {
      return absl::DataLossError("Redis: an answer that the script does not give");
    }
    const std::string& bits = (*replies)[i].elements[1].text;
    for (size_t j = begin; j < end; ++j) (*answers)[(*left)[j]] = bits[j - begin] != '0';
  }
  // What this round had no room for is not refused: alone it is no reason to read the configuration
  // again.
  const bool has_changed = !refused.empty();
  refused.insert(refused.end(), left->begin() + static_cast<std::ptrdiff_t>(count), left->end());
  *left = std::move(refused);
  return has_changed ? absl::AbortedError("") : absl::OkStatus();
}

// Whatever is not answered stays "maybe", and is counted with the reason.
void BitmapFilter::Impl::MayContain(std::span<const std::string_view> keys,
                                    std::vector<bool>* answers) {
  answers->assign(keys.size(), true);
  Positions left;
  const absl::Status status = CatchOutOfMemory([&]() -> absl::Status {
    left = AllPositions(keys.size());
    absl::Status so_far;
    while (!left.empty() && so_far.ok()) {
      // InRounds ends well after one round that was not refused: the loop around it goes on with
      // the next kMaxScripts scripts.
      so_far = InRounds(&left, [&](const BitmapLayout& layout) -> absl::Status {
        // Not cached: the first rebuild may end at any time, and its result should be seen by the
        // next call.
        if (!layout.is_complete) {
          ForgetLayout();
          return MissingError(name());
        }
        return QueryRound(keys, layout, &left, answers);
      });
    }
    return so_far;
  });
  // If there was no memory for the list of what is left, that is all.
  const size_t num_unknown = status.ok() ? 0 : left.empty() ? keys.size() : left.size();
  if (num_unknown != 0) counter_.AddUnknown(status, num_unknown);
  // A round that was cut short may have written answers of keys that count as unknown.
  for (const size_t position : left) (*answers)[position] = true;
  const auto no = static_cast<uint64_t>(std::count(answers->begin(), answers->end(), false));
  counter_.AddNo(no);
  counter_.AddFound(keys.size() - no - num_unknown);
}

void BitmapFilter::Impl::AppendWrite(std::span<const std::string_view> keys,
                                     const BitmapLayout& layout, WriteMode mode,
                                     const std::string& id, Request* request) const {
  const bool adds_to_next = !layout.token.empty();
  request->BeginScript(WriteScript(), keys_, adds_to_next ? 10 : 9);
  request->Append(layout.stamp);
  request->Append(layout.least_bytes_to_add);
  request->Append(layout.token);
  request->Append(mode == WriteMode::kBegin ? "begin" : mode == WriteMode::kEnd ? "end" : "add");
  request->Append(id);
  request->Append(mode == WriteMode::kBegin ? NoteOf(keys) : std::string());
  request->Append(kMaxOpenWrites);
  request->Append(CountOf(layout.shape));
  request->Append(PackOffsets(layout.shape, keys));
  if (adds_to_next) request->Append(PackOffsets(layout.next_shape, keys));
}

absl::Status BitmapFilter::Impl::WriteRound(std::span<const std::string_view> keys,
                                            const BitmapLayout& layout, WriteMode mode,
                                            Positions* left, std::vector<std::string>* ids,
                                            uint64_t* added) {
  // A script sets the bits of both generations: its limit counts them together.
  const size_t both =
      CountOf(layout.shape) + (layout.token.empty() ? 0 : CountOf(layout.next_shape));
  const size_t stride = KeysOfScript(both);
  const size_t count = std::min(left->size(), stride * kMaxScripts);
  // A note that is to be removed goes with the script that adds the last keys, if that is the only.
  const bool ends_here =
      mode == WriteMode::kEnd && ids->size() == 1 && count <= stride && count == left->size();
  // Of a new write each script leaves a note of its own keys, so that a note is there exactly if
  // its keys are added.
  std::vector<std::string> new_ids;
  Request request;
  for (size_t begin = 0; begin < count; begin += stride) {
    WriteMode now = mode == WriteMode::kEnd && !ends_here ? WriteMode::kAdd : mode;
    if (mode == WriteMode::kBegin) new_ids.push_back(UniqueDigits());
    const std::string id = mode == WriteMode::kBegin ? new_ids.back()
                           : ends_here               ? ids->front()
                                                     : std::string();
    AppendWrite(KeysAt(keys, *left, begin, std::min(stride, count - begin)), layout, now, id,
                &request);
  }
  const absl::StatusOr<std::vector<Reply>> replies = client_->Execute(name(), request);
  if (!replies.ok()) return replies.status();
  Positions refused;
  for (size_t i = 0; i < replies->size(); ++i) {
    const absl::StatusOr<std::string> word = WordOf((*replies)[i]);
    if (!word.ok()) return word.status();
    if (*word == "missing") return MissingError(name());
    if (*word == "full") {
      return absl::ResourceExhaustedError(absl::StrCat(
          name(), ": ", kMaxOpenWrites, " writes are open; a rebuild takes those of dead writers"));
    }
    if (*word == "changed") {
      const auto begin = left->begin() + static_cast<std::ptrdiff_t>(i * stride);
      refused.insert(
          refused.end(), begin,
          left->begin() + static_cast<std::ptrdiff_t>(std::min((i + 1) * stride, count)));
      continue;
    }
    if (*word != "ok" || (*replies)[i].elements.size() != 2) {
      return absl::DataLossError("Redis: an answer that the script does not give");
    }
    *added += static_cast<uint64_t>((*replies)[i].elements[1].integer);
    // Only notes that are there: one whose script was refused has not been left, and its keys get
    // another note in the next round.
    if (mode == WriteMode::kBegin) ids->push_back(new_ids[i]);
    // Nothing is left for EndWrite to remove.
    if (ends_here) ids->clear();
  }
  const bool has_changed = !refused.empty();
  refused.insert(refused.end(), left->begin() + static_cast<std::ptrdiff_t>(count), left->end());
  *left = std::move(refused);
  return has_changed ? absl::AbortedError("") : absl::OkStatus();
}

absl::StatusOr<uint64_t> BitmapFilter::Impl::Write(std::span<const std::string_view> keys,
                                                   WriteMode mode, std::vector<std::string>* ids) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<uint64_t> {
    uint64_t added = 0;
    Positions left = AllPositions(keys.size());
    while (!left.empty()) {
      const absl::Status status = InRounds(&left, [&](const BitmapLayout& layout) {
        return WriteRound(keys, layout, mode, &left, ids, &added);
      });
      if (!status.ok()) return status;
    }
    return added;
  });
}

absl::StatusOr<std::unique_ptr<BitmapFilter>> BitmapFilter::Open(
    Client* client, std::string_view name, const BitmapFilterOptions& options) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::unique_ptr<BitmapFilter>> {
    if (name.empty()) return absl::InvalidArgumentError("Redis filter: an empty name");
    // Where the braces of a name make no tag of their own, the keys beside it have another slot,
    // and no script could name them all.
    if (SlotOf(KeyBeside(name, "config")) != SlotOf(name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("Redis filter: the braces of the name '", ShownText(name),
                       "' put its configuration into another slot; use {tag} or none"));
    }
    if (RedisBitmapRuleName(options.rule) == "unknown") {
      return absl::InvalidArgumentError("Redis filter: a rule that is not known");
    }
    if (options.shape_without_configuration.has_value()) {
      RedisBitmapShape shape = *options.shape_without_configuration;
      const absl::Status status = CheckRedisBitmapShape(shape);
      if (!status.ok()) return status;
      if (shape.rule != options.rule) {
        return absl::InvalidArgumentError("Redis filter: the shape is of another rule");
      }
    }
    return std::unique_ptr<BitmapFilter>(
        new BitmapFilter(std::make_unique<Impl>(client, name, options)));
  });
}

BitmapFilter::BitmapFilter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
BitmapFilter::~BitmapFilter() = default;

QueryCounts BitmapFilter::counts() const { return impl_->counter()->Get(); }
const std::string& BitmapFilter::name() const { return impl_->name(); }
RedisBitmapRule BitmapFilter::rule() const { return impl_->options().rule; }

absl::Status BitmapFilter::Create(const RedisBitmapShape& shape,
                                  const CreateBitmapOptions& options) {
  return CatchOutOfMemory([&]() -> absl::Status {
    const absl::Status status = CheckRedisBitmapShape(shape);
    if (!status.ok()) return status;
    if (shape.rule != rule()) {
      return absl::InvalidArgumentError("Redis filter: the shape is of another rule");
    }
    if (BytesOf(shape) > options.max_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat(name(), ": ", BytesOf(shape), " bytes, allowed are ", options.max_bytes));
    }
    // Whatever was known of a filter of this name is of no use afterwards; forgotten first, so that
    // it is gone even if the reply is lost.
    impl_->ForgetLayout();
    const absl::StatusOr<Reply> reply = impl_->Run(
        CreateScript(),
        {std::string(RedisBitmapRuleName(shape.rule)), absl::StrCat(shape.num_bits),
         absl::StrCat(shape.num_probes), options.is_complete ? "1-" + UniqueDigits() : "0",
         absl::StrCat(BytesOf(shape)), absl::StrCat(WithJitter(options.ttl, options.ttl_jitter)),
         absl::StrCat(options.expected_insertions), JavaDouble(options.fpr)});
    if (!reply.ok()) return reply.status();
    const absl::StatusOr<std::string> word = WordOf(*reply);
    if (!word.ok()) return word.status();
    if (*word == "exists") {
      return absl::AlreadyExistsError(absl::StrCat(name(), ": there is such a filter or key"));
    }
    return absl::OkStatus();
  });
}

absl::Status BitmapFilter::Remove() {
  return CatchOutOfMemory([&]() -> absl::Status {
    impl_->ForgetLayout();
    return impl_->RunIfOurs(RemoveScript(), {}).status();
  });
}

bool BitmapFilter::MayContain(std::string_view key) {
  return impl_->counter()->AnswerForOne([&] { return MayContain(std::span(&key, 1)); });
}

std::vector<bool> BitmapFilter::MayContain(std::span<const std::string_view> keys) {
  std::vector<bool> answers;
  impl_->MayContain(keys, &answers);
  return answers;
}

absl::StatusOr<uint64_t> BitmapFilter::Add(std::span<const std::string_view> keys) {
  return impl_->Write(keys, Impl::WriteMode::kAdd, nullptr);
}

absl::StatusOr<WriteIntent> BitmapFilter::BeginWrite(std::span<const std::string_view> keys) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<WriteIntent> {
    std::vector<std::string> ids;
    const absl::StatusOr<uint64_t> added = impl_->Write(keys, Impl::WriteMode::kBegin, &ids);
    if (!added.ok()) return added.status();
    // Copies the keys: the caller's may end before the commit. If there is no memory for that, the
    // notes stay in Redis as a dead writer's do.
    return WriteIntent({keys.begin(), keys.end()}, std::move(ids));
  });
}

absl::Status BitmapFilter::EndWrite(WriteIntent intent) {
  return CatchOutOfMemory([&]() -> absl::Status {
    const std::vector<std::string_view> keys(intent.keys_.begin(), intent.keys_.end());
    // Added again: a rebuild that has begun since the first addition, and has not read the notes
    // yet, does not find this one once it is removed.
    const absl::StatusOr<uint64_t> added = impl_->Write(keys, Impl::WriteMode::kEnd, &intent.ids_);
    if (!added.ok() || intent.ids_.empty()) return added.status();
    // Only now that every key is in whatever serves and in whatever will.
    Request request;
    request.Begin(2 + intent.ids_.size());
    request.Append("HDEL");
    request.Append(impl_->keys()[kNotesKey]);
    for (const std::string& id : intent.ids_) request.Append(id);
    return impl_->client()->ExecuteOne(name(), request).status();
  });
}

absl::StatusOr<BitmapFilterInfo> BitmapFilter::GetInfo() {
  return CatchOutOfMemory([&]() -> absl::StatusOr<BitmapFilterInfo> {
    const absl::StatusOr<std::vector<Reply>> fields = impl_->Describe();
    if (!fields.ok()) return fields.status();
    const absl::StatusOr<BitmapLayout> layout = ParseLayout(*fields, impl_->options(), name());
    if (!layout.ok()) return layout.status();
    Request request;
    request.Command({"BITCOUNT", name()});
    const absl::StatusOr<Reply> ones = impl_->client()->ExecuteOne(name(), request);
    if (!ones.ok()) return ones.status();
    BitmapFilterInfo info;
    info.shape = layout->shape;
    info.has_configuration = layout->has_configuration;
    info.is_complete = layout->is_complete;
    info.is_being_rebuilt = !layout->token.empty();
    info.generation = (*fields)[kGenerationField].text;
    info.num_bytes = NumberIn(*fields, kLengthField);
    info.num_ones = static_cast<uint64_t>(ones->integer);
    info.open_writes = NumberIn(*fields, kNumNotesField);
    info.expected_insertions = NumberIn(*fields, kInsertionsField);
    if (!absl::SimpleAtod((*fields)[kRateField].text, &info.fpr)) info.fpr = 0;
    info.ttl_left = std::chrono::milliseconds(NumberIn(*fields, kTtlField));
    return info;
  });
}

// Redisson's count(), and the rate of a filter with so many bits set.
uint64_t BitmapFilterInfo::EstimatedKeys() const {
  const auto bits = static_cast<double>(shape.num_bits);
  // As if half a bit were left: a full filter would give infinity, and a string that is longer than
  // its shape worse.
  const double ones = std::min(static_cast<double>(num_ones), bits - 0.5);
  return static_cast<uint64_t>(std::llround(-bits / shape.num_probes * std::log1p(-ones / bits)));
}

double BitmapFilterInfo::ExpectedFpr() const { return RedisBitmapFpr(shape, num_ones); }

absl::StatusOr<RedisBitmap> BitmapFilter::Download() {
  return CatchOutOfMemory([&]() -> absl::StatusOr<RedisBitmap> {
    const absl::StatusOr<std::vector<Reply>> fields = impl_->Describe();
    if (!fields.ok()) return fields.status();
    const absl::StatusOr<BitmapLayout> layout = ParseLayout(*fields, impl_->options(), name());
    if (!layout.ok()) return layout.status();
    const uint64_t num_bytes = NumberIn(*fields, kLengthField);
    if (num_bytes > BytesOf(layout->shape)) {
      return absl::FailedPreconditionError(
          absl::StrCat(name(), ": ", num_bytes, " bytes, more than its configuration says"));
    }
    const absl::Status replaced =
        absl::AbortedError(absl::StrCat(name(), ": replaced while it was read"));
    // Not one step: bits that are set meanwhile may be in it or not.
    std::string value;
    while (value.size() < num_bytes) {
      Request request;
      uint64_t begin = value.size();
      for (size_t i = 0; i < kPieces && begin < num_bytes; ++i, begin += kPieceBytes) {
        request.Command({"GETRANGE", name(), absl::StrCat(begin),
                         absl::StrCat(std::min(begin + kPieceBytes, num_bytes) - 1)});
      }
      const absl::StatusOr<std::vector<Reply>> pieces = impl_->client()->Execute(name(), request);
      if (!pieces.ok()) return pieces.status();
      for (const Reply& piece : *pieces) {
        const absl::Status status = piece.ToStatus();
        if (!status.ok()) return status;
        value.append(piece.text);
        const bool is_last = value.size() >= num_bytes;
        // A short piece before the end: the string was replaced by a shorter one, or is gone.
        if (piece.text.size() != kPieceBytes && !is_last) return replaced;
      }
    }
    // Pieces of two generations would deny keys of both.
    const absl::StatusOr<std::vector<Reply>> after = impl_->Describe();
    if (!after.ok()) return after.status();
    if ((*after)[kStampField].text != layout->stamp) return replaced;
    return RedisBitmap::FromString(layout->shape, value);
  });
}

}  // namespace winnow::filter::redis
