// A group of updates that is applied whole or not at all.
#ifndef WINNOW_WRITE_BATCH_H_
#define WINNOW_WRITE_BATCH_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace winnow {

class ColumnFamily;

// Not thread-safe; used once or many times (Write does not change it). Later updates of the same
// key win. Keys and values are copied.
class WriteBatch {
 public:
  WriteBatch();

  // Into the default column family, or into the one given. Limits (kMaxKeyBytes, kMaxValueBytes,
  // kMaxBatchBytes) are checked by DB::Write, which then refuses the whole batch, as it does when a
  // family is null or not one of its own.
  void Put(std::string_view key, std::string_view value);
  void Put(const ColumnFamily* family, std::string_view key, std::string_view value);
  void Delete(std::string_view key);
  void Delete(const ColumnFamily* family, std::string_view key);
  // An operand for the family's merge operator (winnow/merge_operator.h). DB::Write refuses the
  // whole batch if the family has none, or if the operator refuses the operand.
  void Merge(std::string_view key, std::string_view operand);
  void Merge(const ColumnFamily* family, std::string_view key, std::string_view operand);

  // Deletes the keys from `begin` to before `end`, in the order of the family's comparator. Both
  // are keys, with a key's limits. Equal ends delete nothing; DB::Write refuses the whole batch
  // with InvalidArgument where `end` comes before `begin`.
  void DeleteRange(std::string_view begin, std::string_view end);
  void DeleteRange(const ColumnFamily* family, std::string_view begin, std::string_view end);

  // Appends the updates of `other` after those of this batch.
  void Append(const WriteBatch& other);
  void Clear();

  uint32_t num_updates() const;
  size_t size_bytes() const { return encoded_.size(); }

  // Calls back for each update in order; stops at the first error and returns it. DataLoss if the
  // bytes are no batch (only possible for FromEncoded).
  class Handler {
   public:
    virtual ~Handler() = default;
    virtual absl::Status Put(uint32_t column_family_id, std::string_view key,
                             std::string_view value) = 0;
    virtual absl::Status Delete(uint32_t column_family_id, std::string_view key) = 0;
    // FailedPrecondition, unless it is overridden: a handler may not pass over what it cannot do.
    virtual absl::Status Merge(uint32_t column_family_id, std::string_view key,
                               std::string_view operand);
    // Unimplemented, unless it is overridden.
    virtual absl::Status DeleteRange(uint32_t /*column_family_id*/, std::string_view /*begin*/,
                                     std::string_view /*end*/) {
      return absl::UnimplementedError("the reader of this write batch takes no range deletions");
    }
  };
  absl::Status ForEach(Handler& handler) const;

  // The stored form (engine/write/FORMAT.md), and a batch made from it; its content is checked when
  // it is used.
  std::string_view encoded() const { return encoded_; }
  static WriteBatch FromEncoded(std::string_view encoded);

 private:
  friend class WriteBatchAccess;
  // The value, if there is one, is `*value` and `rest` behind it.
  void AppendUpdate(uint8_t type, uint32_t family_id, std::string_view key,
                    const std::string_view* value, std::string_view rest = {});
  // There comes an update, or a plain batch's updates, of this family.
  void NoteFamily(uint32_t family_id);
  void AppendRangeDeletion(uint32_t family_id, std::string_view begin, std::string_view end);
  // Gives the family's id, and remembers whose it is.
  uint32_t IdOf(const ColumnFamily* family);
  void BindTo(uint64_t database_number);

  std::string encoded_;
  size_t largest_key_bytes_ = 0;
  size_t largest_value_bytes_ = 0;
  // All updates so far were added here, put or delete a key, and are of family_id_.
  bool is_plain_ = true;
  uint32_t family_id_ = 0;
  uint64_t database_number_ = 0;  // of the families given so far; 0: none was
};

}  // namespace winnow

#endif  // WINNOW_WRITE_BATCH_H_
