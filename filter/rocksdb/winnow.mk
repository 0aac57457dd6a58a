# RocksDB's make build reads this when filter/rocksdb/ is linked as plugin/winnow; see README.md.
winnow_SOURCES = allocation_fit.cc bits_builder.cc bits_reader.cc construction_charge.cc diagnostics.cc filter_ledger.cc filter_policy.cc level_aware.cc misspelt_name.cc policy_spec.cc registration.cc tree_observer.cc verified_filters.cc version_check.cc
winnow_HEADERS = include/winnow/filter/rocksdb.h
winnow_FUNC = winnow_register_filter_policies
winnow_CXXFLAGS = -std=c++20 -I$(realpath plugin/winnow)/../.. -I$(realpath plugin/winnow)/include
winnow_PKGCONFIG_REQUIRES = winnow-filter
