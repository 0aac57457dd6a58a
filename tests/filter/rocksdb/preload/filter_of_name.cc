// A program that knows RocksDB and nothing of Winnow: makes the filter policy that its argument
// names and prints its id. Exit code 1: there is none of that name.

#include <rocksdb/convenience.h>
#include <rocksdb/filter_policy.h>

#include <cstdio>
#include <memory>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::shared_ptr<const rocksdb::FilterPolicy> policy;
  const rocksdb::Status status =
      rocksdb::FilterPolicy::CreateFromString(rocksdb::ConfigOptions(), argv[1], &policy);
  // RocksDB takes an unknown name for none at all.
  const bool is_made = status.ok() && policy != nullptr;
  std::puts(is_made ? policy->GetId().c_str() : status.ToString().c_str());
  return is_made ? 0 : 1;
}
