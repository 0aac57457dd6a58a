// The text forms of options.
#include "winnow/options.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace winnow {
namespace {

absl::Status Set(Options* options, std::string_view name, std::string_view value) {
  return SetOption(options, name, value);
}

TEST(OptionsText, SizesTakeSuffixes) {
  Options options;
  const std::vector<std::pair<std::string, uint64_t>> sizes = {
      {"4096", 4096},     {"64K", 64 << 10}, {"64k", 64 << 10}, {"3M", 3 << 20}, {"2G", 2ull << 30},
      {"1T", 1ull << 40}, {"1MiB", 1 << 20}, {"100B", 100},     {"0", 0},
  };
  for (const auto& [text, bytes] : sizes) {
    EXPECT_TRUE(Set(&options, "block_cache_bytes", text).ok()) << text;
    EXPECT_EQ(options.block_cache_bytes, bytes) << text;
  }
}

TEST(OptionsText, SizesThatAreNoneAreRefusedAndNothingChanges) {
  Options options;
  const uint64_t before = options.max_log_bytes;
  for (const char* text : {"", "K", "-1", "1.5M", "1X", "1MM", "12 M", "99999999999T",
                           "18446744073709551616", "1Mi", "iB", " 1"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Set(&options, "max_log_bytes", text))) << text;
    EXPECT_EQ(options.max_log_bytes, before) << text;
  }
}

TEST(OptionsText, EveryNamedOptionCanBeSet) {
  // A value that differs from the default for each kind of field.
  for (const std::string_view name : OptionNames()) {
    Options options;
    bool any = false;
    for (const char* value :
         {"7", "0", "1M", "true", "zstd", "strict", "none", "whole", "tiered", "max"}) {
      any = any || Set(&options, name, value).ok();
    }
    EXPECT_TRUE(any) << name;
  }
  EXPECT_GE(OptionNames().size(), 25u);
  EXPECT_LE(OptionNames().size(), 48u) << "each is one more for every user to know";
}

// A value of a mebibyte once made a message of one or two.
TEST(OptionsText, MessagesShowTheBeginningOfALongValue) {
  const std::string letters(size_t{1} << 20, 'x');
  for (const std::string_view name : OptionNames()) {
    for (const std::string& value :
         {letters, std::string(size_t{1} << 20, '9'), "none:" + letters, "bloom:10:" + letters,
          "bloom:" + letters, "bloom:10+" + letters, "prefix:" + letters, "append:" + letters,
          "fifo:" + letters, std::string(size_t{1} << 20, '\xff')}) {
      Options options;
      const absl::Status status = Set(&options, name, value);
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << name << "=" << value.substr(0, 12);
      EXPECT_LE(status.message().size(), 1000u) << name << "=" << value.substr(0, 12);
    }
  }
  Options options;
  const absl::Status status = Set(&options, "block_bytes", letters);
  EXPECT_EQ(status.message().find("option block_bytes: '" + letters.substr(0, 64) + "...' is not"),
            0u)
      << status;
}

// The nearest name was searched for in time that grew with the length of what was asked for.
TEST(OptionsText, AnUnknownNameIsNamedWithTheNearestUnlessItIsVeryLong) {
  Options options;
  const absl::Status slip = Set(&options, "block_byte", "1");
  EXPECT_NE(slip.message().find("'block_byte'; the nearest is 'block_bytes'"),
            absl::string_view::npos)
      << slip;
  const absl::Status endless = Set(&options, std::string(size_t{1} << 20, 'a'), "1");
  EXPECT_TRUE(absl::IsInvalidArgument(endless));
  EXPECT_LT(endless.message().size(), 200u);
}

TEST(OptionsText, BooleansNumbersAndNames) {
  Options options;
  EXPECT_TRUE(Set(&options, "read_only", "1").ok());
  EXPECT_TRUE(options.read_only);
  EXPECT_TRUE(Set(&options, "read_only", "false").ok());
  EXPECT_FALSE(options.read_only);
  EXPECT_FALSE(Set(&options, "read_only", "yes").ok());
  EXPECT_TRUE(Set(&options, "level_size_multiplier", "4.5").ok());
  EXPECT_EQ(options.level_size_multiplier, 4.5);
  EXPECT_FALSE(Set(&options, "background_threads", "two").ok());
  EXPECT_FALSE(Set(&options, "background_threads", "99999999999").ok());
  EXPECT_TRUE(Set(&options, "compression", "zstd").ok());
  EXPECT_EQ(options.compression, Compression::kZstd);
  EXPECT_FALSE(Set(&options, "compression", "zip").ok());
  EXPECT_TRUE(Set(&options, "compression_per_level", "none:none:zstd").ok());
  EXPECT_EQ(options.compression_per_level,
            (std::vector<Compression>{Compression::kNone, Compression::kNone, Compression::kZstd}));
  EXPECT_FALSE(Set(&options, "compression_per_level", "none:zip").ok());
  EXPECT_TRUE(Set(&options, "recovery_mode", "salvage").ok());
  EXPECT_EQ(options.recovery_mode, RecoveryMode::kSalvage);
  EXPECT_TRUE(Set(&options, "filter", "cuckoo:1%").ok());
  EXPECT_EQ(options.filter, "cuckoo:1%");
}

TEST(OptionsText, AnUnknownNameGetsTheNearestOneSuggested) {
  Options options;
  const absl::Status status = Set(&options, "write_bufer_bytes", "1M");
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_NE(std::string(status.message()).find("'write_buffer_bytes'"), std::string::npos)
      << status.ToString();
  EXPECT_TRUE(absl::IsInvalidArgument(Set(&options, "", "")));
}

TEST(OptionsText, TheLogsSizeIsABoundedNumberOfBytesOrNone) {
  Options options;
  for (const char* text : {"0", "4K", "1G"}) {
    EXPECT_TRUE(Set(&options, "info_log_bytes", text).ok()) << text;
    EXPECT_TRUE(ValidateOptions(options).ok()) << text;
  }
  for (const char* text : {"1", "4095", "2G"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Set(&options, "info_log_bytes", text))) << text;
    EXPECT_TRUE(ValidateOptions(options).ok()) << text;
  }
  for (const uint64_t bytes : {uint64_t{1}, uint64_t{4095}, uint64_t{2} << 30}) {
    Options given;
    given.info_log_bytes = bytes;
    EXPECT_TRUE(absl::IsInvalidArgument(ValidateOptions(given))) << bytes;
  }
  EXPECT_FALSE(Set(&options, "info_log_bytes", "much").ok());
}

TEST(OptionsText, MemoryForMemtablesAndReadaheadHasRanges) {
  Options options;
  for (const char* text : {"0", "1M", "16T"}) {
    EXPECT_TRUE(Set(&options, "db_write_buffer_bytes", text).ok()) << text;
    EXPECT_TRUE(ValidateOptions(options).ok()) << text;
  }
  for (const char* text : {"1", "1023K", "17T"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Set(&options, "db_write_buffer_bytes", text))) << text;
    EXPECT_TRUE(ValidateOptions(options).ok()) << text;
  }
  for (const uint64_t bytes : {uint64_t{1}, uint64_t{1023} << 10, uint64_t{17} << 40}) {
    Options given;
    given.db_write_buffer_bytes = bytes;
    EXPECT_TRUE(absl::IsInvalidArgument(ValidateOptions(given))) << bytes;
  }
  options = Options();
  for (const char* text : {"64K", "1G"}) {
    EXPECT_TRUE(Set(&options, "compaction_readahead_bytes", text).ok()) << text;
    EXPECT_TRUE(ValidateOptions(options).ok()) << text;
  }
  for (const char* text : {"0", "63K", "2G"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Set(&options, "compaction_readahead_bytes", text))) << text;
    EXPECT_TRUE(ValidateOptions(options).ok()) << text;
  }
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{63} << 10, uint64_t{2} << 30}) {
    Options given;
    given.compaction_readahead_bytes = bytes;
    EXPECT_TRUE(absl::IsInvalidArgument(ValidateOptions(given))) << bytes;
  }
  EXPECT_TRUE(Set(&options, "charge_filters_to_cache", "true").ok());
  EXPECT_TRUE(options.charge_filters_to_cache);
  EXPECT_FALSE(options.mmap_reads);
  EXPECT_TRUE(Set(&options, "mmap_reads", "1").ok());
  EXPECT_TRUE(options.mmap_reads);
  EXPECT_FALSE(Set(&options, "mmap_reads", "2").ok());
}

// Any text was taken for a filter, no compressions for a list of them, and any number for a real
// one.
TEST(OptionsText, WhatNoDatabaseCouldUseIsRefusedAndChangesNothing) {
  Options options;
  for (const auto& [name, value] : std::vector<std::pair<const char*, const char*>>{
           {"filter", "any text"},
           {"filter", "bloom:1000"},
           {"filter_key", "suffix:4"},
           {"compression_per_level", ""},
           {"compression_per_level", "none::zstd"},
           {"compression_per_level",
            "none:none:none:none:none:none:none:none:none:none:none:none:none:none:none:none:none"},
           {"level_size_multiplier", "99999999999999999999999"},
           {"level_size_multiplier", "1e999"},
           {"memtable_filter_ratio", "nan"},
           {"memtable_filter_ratio", "-0.1"},
           {"key_hashes_ratio", "1.5"},
           {"key_hashes_ratio", "2%"},
           {"write_buffer_bytes", "99999999999999999999999"},
           {"write_buffer_bytes", "1K"},
           {"max_open_files", "15"},
           {"zstd_level", "23"},
           {"level0_stop_trigger", "0"}}) {
    const absl::Status status = Set(&options, name, value);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << name << "=" << value;
    EXPECT_EQ(status.message().rfind(std::string("option ") + name, 0), 0u) << status;
  }
  EXPECT_EQ(options.filter, Options().filter);
  EXPECT_EQ(options.level_size_multiplier, Options().level_size_multiplier);
  EXPECT_TRUE(options.compression_per_level.empty());
  EXPECT_TRUE(ValidateOptions(options).ok());
}

// They bound each other, and come in any order.
TEST(OptionsText, TheTriggersOfLevelZeroFitEachOtherOnlyInTheEnd) {
  Options options;
  EXPECT_TRUE(Set(&options, "level0_stop_trigger", "6").ok());
  EXPECT_FALSE(ValidateOptions(options).ok());
  EXPECT_TRUE(Set(&options, "level0_slowdown_trigger", "5").ok());
  EXPECT_TRUE(Set(&options, "level0_compaction_trigger", "2").ok());
  EXPECT_TRUE(ValidateOptions(options).ok());
}

TEST(OptionsText, DefaultsAreValid) { EXPECT_TRUE(ValidateOptions(Options()).ok()); }

}  // namespace
}  // namespace winnow
