#pragma once
#include <cstring>
#include <string>

#include "rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE {
class Slice {
 public:
  Slice() = default;
  Slice(const char* d, size_t n) : data_(d), size_(n) {}
  Slice(const std::string& s) : data_(s.data()), size_(s.size()) {}
  Slice(const char* s) : data_(s), size_(std::strlen(s)) {}
  const char* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  char operator[](size_t n) const { return data_[n]; }

 private:
  const char* data_ = "";
  size_t size_ = 0;
};
}  // namespace ROCKSDB_NAMESPACE
