#pragma once
#include <functional>
#include <memory>
#include <string>

#include "../rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE {

template <typename T>
using FactoryFunc = std::function<T*(const std::string&, std::unique_ptr<T>*, std::string*)>;

// Counts what is added to it.
class ObjectLibrary {
 public:
  class PatternEntry {
   public:
    explicit PatternEntry(const std::string& /*name*/, bool /*optional*/ = true) {}
    PatternEntry& AddSeparator(const std::string& /*text*/, bool /*at_least_one*/ = true) {
      return *this;
    }
    PatternEntry& AnotherName(const std::string& /*name*/) { return *this; }
  };

  template <typename T>
  const FactoryFunc<T>& AddFactory(const PatternEntry& /*entry*/, const FactoryFunc<T>& factory) {
    ++num_factories;
    return factory;
  }
  static std::shared_ptr<ObjectLibrary>& Default() {
    static std::shared_ptr<ObjectLibrary> library = std::make_shared<ObjectLibrary>();
    return library;
  }

  int num_factories = 0;
};
}  // namespace ROCKSDB_NAMESPACE
