// The sources of the adapter that call RocksDB, to be compiled with the headers of any version.
#include "filter/rocksdb/bits_builder.cc"
#include "filter/rocksdb/bits_reader.cc"
#include "filter/rocksdb/construction_charge.cc"
#include "filter/rocksdb/filter_policy.cc"
#include "filter/rocksdb/registration.cc"
#include "filter/rocksdb/version_check.cc"
