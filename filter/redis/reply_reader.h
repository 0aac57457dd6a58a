// Bytes of a server into replies, by hiredis's parser, which builds our values. Whatever comes, no
// more memory is taken than the bytes that came pay for.

#ifndef WINNOW_FILTER_REDIS_REPLY_READER_H_
#define WINNOW_FILTER_REDIS_REPLY_READER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "winnow/filter/redis/reply.h"

struct redisReader;

namespace winnow::filter::redis {

// Used by one thread.
class ReplyReader {
 public:
  // A reply of more bytes, or with more elements in all, is refused by Next.
  ReplyReader(uint64_t max_bytes, uint64_t max_elements);
  ~ReplyReader();
  ReplyReader(const ReplyReader&) = delete;
  ReplyReader& operator=(const ReplyReader&) = delete;

  // Between two calls take all replies that are whole.
  absl::Status Feed(std::string_view bytes);
  // The next whole reply, or nothing before more bytes came. DataLoss: this is no Redis, or more
  // than the limits allow; nothing can be read any more then.
  absl::StatusOr<std::optional<Reply>> Next();
  // Bytes came behind the last reply that Next gave.
  bool HasUnread() const { return bytes_unread_ != 0; }

 private:
  struct Free {
    void operator()(redisReader* reader) const;
  };

  std::unique_ptr<redisReader, Free> reader_;
  const uint64_t max_bytes_;
  const uint64_t max_elements_;
  uint64_t elements_left_;
  uint64_t bytes_unread_ = 0;  // fed since the last whole reply
};

}  // namespace winnow::filter::redis

#endif  // WINNOW_FILTER_REDIS_REPLY_READER_H_
