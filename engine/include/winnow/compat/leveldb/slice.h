// A view of bytes that somebody else owns, as LevelDB programs pass keys and values.
#ifndef WINNOW_COMPAT_LEVELDB_SLICE_H_
#define WINNOW_COMPAT_LEVELDB_SLICE_H_

#include <cassert>
#include <cstddef>
#include <cstring>
#include <string>

#include "leveldb/export.h"

namespace leveldb {

// The bytes must outlive the slice. Const methods may be called from many threads.
class Slice {
 public:
  Slice() : data_(""), size_(0) {}
  Slice(const char* data, size_t size) : data_(data), size_(size) {}
  // Implicit, as in LevelDB: programs pass strings and literals. A literal ends at its zero byte.
  Slice(const std::string& text) : data_(text.data()), size_(text.size()) {}  // NOLINT
  Slice(const char* text) : data_(text), size_(std::strlen(text)) {}          // NOLINT

  const char* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const char* begin() const { return data_; }
  const char* end() const { return data_ + size_; }

  // Requires n < size().
  char operator[](size_t n) const {
    assert(n < size_);
    return data_[n];
  }

  void clear() { *this = Slice(); }
  // Drops the first n bytes; requires n <= size().
  void remove_prefix(size_t n) {
    assert(n <= size_);
    data_ += n;
    size_ -= n;
  }

  std::string ToString() const { return std::string(data_, size_); }

  // Below, at or above 0 as this sorts before, equal to or behind `other`, by unsigned bytes.
  int compare(const Slice& other) const {
    const size_t shared = size_ < other.size_ ? size_ : other.size_;
    const int order = shared == 0 ? 0 : std::memcmp(data_, other.data_, shared);
    if (order != 0) return order;
    return size_ < other.size_ ? -1 : (size_ > other.size_ ? 1 : 0);
  }

  bool starts_with(const Slice& prefix) const {
    return size_ >= prefix.size_ &&
           (prefix.size_ == 0 || std::memcmp(data_, prefix.data_, prefix.size_) == 0);
  }

 private:
  const char* data_;
  size_t size_;
};

inline bool operator==(const Slice& a, const Slice& b) {
  return a.size() == b.size() && a.starts_with(b);
}
inline bool operator!=(const Slice& a, const Slice& b) { return !(a == b); }

}  // namespace leveldb

#endif  // WINNOW_COMPAT_LEVELDB_SLICE_H_
