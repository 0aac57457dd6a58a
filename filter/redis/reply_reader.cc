#include "filter/redis/reply_reader.h"

#include <hiredis/hiredis.h>
#include <hiredis/read.h>

#include <memory>
#include <new>

#include "absl/strings/str_cat.h"

namespace winnow::filter::redis {
namespace {

// hiredis calls these functions as it reads, a parent before its elements, with `task` for the
// place in the reply. A null result makes it stop with REDIS_ERR_OOM; it then frees the whole reply
// by the root, so that an element must never be freed on its own.
//
// Takes one from the budget that the reader's private data is. Before anything is allocated: an
// array may announce any number of elements.
bool TakeElements(const redisReadTask* task, uint64_t count) {
  auto* left = static_cast<uint64_t*>(task->privdata);
  if (count > *left) return false;
  *left -= count;
  return true;
}

// The place for the object of a task: the whole reply, or an element of an array that exists.
// Null, which hiredis reports as being without memory, if there is none. No exception may cross it.
Reply* NewReply(const redisReadTask* task, Reply::Type type) {
  if (task->parent == nullptr) {
    auto* whole = new (std::nothrow) Reply();
    if (whole != nullptr) whole->type = type;
    return whole;
  }
  auto* array = static_cast<Reply*>(task->parent->obj);
  const auto index = static_cast<size_t>(task->idx);
  if (index >= array->elements.size()) return nullptr;
  array->elements[index].type = type;
  return &array->elements[index];
}

void* CreateString(const redisReadTask* task, char* bytes, size_t length) {
  Reply::Type type = Reply::Type::kString;
  if (task->type == REDIS_REPLY_ERROR) type = Reply::Type::kError;
  if (task->type == REDIS_REPLY_STATUS) type = Reply::Type::kStatus;
  Reply* reply = NewReply(task, type);
  if (reply == nullptr) return nullptr;
  try {
    reply->text.assign(bytes, length);
  } catch (const std::bad_alloc&) {
    if (task->parent == nullptr) delete reply;
    return nullptr;
  }
  return reply;
}

template <typename Count>
void* CreateArray(const redisReadTask* task, Count count) {
  // Of all arrays of a reply together, since small arrays in arrays multiply as well.
  if (!TakeElements(task, static_cast<uint64_t>(count))) return nullptr;
  Reply* reply = NewReply(task, Reply::Type::kArray);
  if (reply == nullptr) return nullptr;
  try {
    reply->elements.resize(static_cast<size_t>(count));
  } catch (const std::bad_alloc&) {
    if (task->parent == nullptr) delete reply;
    return nullptr;
  }
  return reply;
}

void* CreateInteger(const redisReadTask* task, long long value) {  // NOLINT(google-runtime-int)
  Reply* reply = NewReply(task, Reply::Type::kInteger);
  if (reply != nullptr) reply->integer = value;
  return reply;
}

void* CreateNil(const redisReadTask* task) { return NewReply(task, Reply::Type::kNil); }

// Called for whole replies only: elements lie inside theirs.
void FreeReply(void* reply) { delete static_cast<Reply*>(reply); }

// hiredis from 1.0 on reads RESP3's doubles and booleans, and without functions for them gives
// numbers in place of objects. Nothing here asks for RESP3: who sends them is refused.
template <typename ObjectFunctions>
void RefuseDoublesAndBooleans(ObjectFunctions* functions) {
  if constexpr (requires { functions->createDouble; }) {
    functions->createDouble = [](const redisReadTask*, double, char*, size_t) -> void* {
      return nullptr;
    };
  }
  if constexpr (requires { functions->createBool; }) {
    functions->createBool = [](const redisReadTask*, int) -> void* { return nullptr; };
  }
}

redisReplyObjectFunctions* Functions() {
  static redisReplyObjectFunctions functions = [] {
    redisReplyObjectFunctions made = {};
    made.createString = CreateString;
    made.createArray = CreateArray;  // its count is int in hiredis 0.14 and size_t since 1.0
    made.createInteger = CreateInteger;
    made.createNil = CreateNil;
    made.freeObject = FreeReply;
    RefuseDoublesAndBooleans(&made);
    return made;
  }();
  return &functions;
}

}  // namespace

void ReplyReader::Free::operator()(redisReader* reader) const { redisReaderFree(reader); }

ReplyReader::ReplyReader(uint64_t max_bytes, uint64_t max_elements)
    : reader_(redisReaderCreateWithFunctions(Functions())),
      max_bytes_(max_bytes),
      max_elements_(max_elements),
      elements_left_(max_elements) {
  // The address of a member: a reader is never moved.
  if (reader_ != nullptr) reader_->privdata = &elements_left_;
}

ReplyReader::~ReplyReader() = default;

absl::Status ReplyReader::Feed(std::string_view bytes) {
  if (reader_ == nullptr) return absl::ResourceExhaustedError("Redis: no memory for a reader");
  bytes_unread_ += bytes.size();
  if (redisReaderFeed(reader_.get(), bytes.data(), bytes.size()) != REDIS_OK) {
    return absl::ResourceExhaustedError(absl::StrCat("Redis: ", reader_->errstr));
  }
  return absl::OkStatus();
}

// A bulk string may announce up to 512 MiB: hiredis's buffer grows with what it is fed, and what is
// fed at a time may hold many small replies. So it is the reply under way that is measured.
absl::StatusOr<std::optional<Reply>> ReplyReader::Next() {
  if (reader_ == nullptr) return absl::ResourceExhaustedError("Redis: no memory for a reader");
  void* object = nullptr;
  if (redisReaderGetReply(reader_.get(), &object) != REDIS_OK) {
    // Three causes that hiredis does not tell apart, as all come as a null object.
    if (reader_->err == REDIS_ERR_OOM) {
      return absl::DataLossError(absl::StrCat("Redis: a reply of more than ", max_elements_,
                                              " elements, of a kind that is not known, or "
                                              "without memory for it"));
    }
    return absl::DataLossError(absl::StrCat("Redis: not its protocol: ", reader_->errstr));
  }
  const std::unique_ptr<Reply> reply(static_cast<Reply*>(object));
  // What is behind `pos` after a whole reply is the beginning of the next ones.
  const uint64_t bytes_behind = reply != nullptr ? reader_->len - reader_->pos : 0;
  if (bytes_unread_ - bytes_behind > max_bytes_) {
    return absl::DataLossError(absl::StrCat("Redis: a reply of more than ", max_bytes_, " bytes"));
  }
  if (reply == nullptr) return std::optional<Reply>();
  // The budget is for each reply.
  elements_left_ = max_elements_;
  bytes_unread_ = bytes_behind;
  return std::optional<Reply>(std::move(*reply));
}

}  // namespace winnow::filter::redis
