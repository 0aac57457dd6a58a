// DB::StartTrace: what is recorded, what is left out, and that nothing else changes.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/trace/trace_file.h"
#include "tests/support/annotated_dump.h"
#include "tests/support/db_fixture.h"
#include "tests/support/fault_file_system.h"
#include "winnow/filter/hash.h"

namespace winnow::trace {
namespace {

constexpr char kTrace[] = "/calls.trace";

// "get apple", "put plum 3"; with hashes "get #HASH". Ends with the error, if there is one.
std::vector<std::string> CallsIn(FileSystem& files, const std::string& path = kTrace) {
  std::vector<std::string> calls;
  const auto trace = TraceReader::Open(files, path);
  if (!trace.ok()) return {trace.status().ToString()};
  TraceRecord record;
  for (;;) {
    const absl::StatusOr<bool> more = (*trace)->Next(&record);
    if (!more.ok()) calls.push_back(more.status().ToString());
    if (!more.ok() || !*more) return calls;
    std::string& call = calls.emplace_back(TraceCallName(record.call));
    absl::StrAppend(&call, " ",
                    (*trace)->header().keys_are_hashes ? absl::StrCat("#", record.key_hash)
                                                       : std::string(record.key));
    if (record.value_bytes > 0) absl::StrAppend(&call, " ", record.value_bytes);
  }
}

TEST(Trace, RecordsCallsByKey) {
  Options options = MemoryDb::Quiet();
  options.merge_operator = *ParseMergeOperator("append:+");
  MemoryDb db(options);
  db.Put("before", "1");
  ASSERT_TRUE(db->StartTrace({}, kTrace).ok());
  db.Put("plum", "red");
  db.Delete("pear");
  ASSERT_TRUE(db->Merge(WriteOptions(), db->DefaultColumnFamily(), "fig", "ab").ok());
  db.Get("apple");
  db.MultiGet({"plum", "quince"});
  EXPECT_TRUE(*db->Exists(ReadOptions(), "plum"));
  {
    const auto iterator = db->NewIterator(ReadOptions());
    iterator->Seek("p");
    ASSERT_TRUE(iterator->Valid());
    EXPECT_EQ(iterator->key(), "plum");
    iterator->SeekForPrev("g");
    EXPECT_EQ(iterator->key(), "fig");
  }
  const auto info = db->EndTrace();
  ASSERT_TRUE(info.ok()) << info.status();
  db.Get("after");
  EXPECT_EQ(info->calls_recorded, 9u);
  EXPECT_EQ(info->calls_not_recorded, 0u);
  EXPECT_EQ(info->bytes, *db.file_system().FileSize(kTrace));
  EXPECT_EQ(CallsIn(db.file_system()),
            (std::vector<std::string>{"put plum 3", "delete pear", "merge fig 2", "get apple",
                                      "multiget plum", "multiget quince", "get plum", "seek p",
                                      "seek g"}));
}

TEST(Trace, SizesAreThoseOfTheUsersValues) {
  Options options = MemoryDb::Quiet();
  options.ttl_seconds = 1000;
  MemoryDb db(options);
  ASSERT_TRUE(db->StartTrace({}, kTrace).ok());
  db.Put("plum", "red");
  ASSERT_TRUE(db->EndTrace().ok());
  EXPECT_EQ(CallsIn(db.file_system()), std::vector<std::string>{"put plum 3"});
}

TEST(Trace, RangeDeletionsAreCountedAsLeftOut) {
  MemoryDb db;
  ASSERT_TRUE(db->StartTrace({}, kTrace).ok());
  ASSERT_TRUE(db->DeleteRange(WriteOptions(), "a", "b").ok());
  db.Put("plum", "red");
  const auto info = db->EndTrace();
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->calls_not_recorded, 1u);
  EXPECT_EQ(CallsIn(db.file_system()), std::vector<std::string>{"put plum 3"});
}

TEST(Trace, KeysThatNoDatabaseTakesAreLeftOut) {
  MemoryDb db;
  ASSERT_TRUE(db->StartTrace({}, kTrace).ok());
  const auto iterator = db->NewIterator(ReadOptions());
  iterator->Seek(std::string(kMaxKeyBytes + 1, 'k'));
  iterator->Seek("k");
  const auto info = db->EndTrace();
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->calls_not_recorded, 1u);
  EXPECT_EQ(CallsIn(db.file_system()), std::vector<std::string>{"seek k"});
}

TEST(Trace, NamesOfTheDatabasesOwnFilesAreRefused) {
  MemoryDb db;
  const std::string directory = MemoryDb::kPath;
  for (const char* name : {"/000099.sst", "/000099.log", "/CURRENT.tmp"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(db->StartTrace({}, directory + name))) << name;
  }
  EXPECT_TRUE(db->StartTrace({}, directory + "/calls.trace").ok());
}

TEST(Trace, AStartThatFailsLeavesNoFile) {
  const auto memory = NewUnrecordedFileSystem();
  FaultFileSystem faults(memory.get(), 1);
  Options options = MemoryDb::Quiet();
  options.file_system = &faults;
  const auto db = OpenOrFail(options, "/db");
  ASSERT_NE(db, nullptr);
  faults.Add(
      FaultRule::Error(InjectedFullDisk()).On({FileOperation::Kind::kAppend}, kTrace).From(0, 1));
  EXPECT_TRUE(absl::IsResourceExhausted(db->StartTrace({}, kTrace)));
  const absl::Status started = db->StartTrace({}, kTrace);
  EXPECT_TRUE(started.ok()) << started;
}

TEST(Trace, HashesKeysOnRequest) {
  MemoryDb db;
  ASSERT_TRUE(db->StartTrace({.hash_keys = true}, kTrace).ok());
  db.Get("a very private key");
  ASSERT_TRUE(db->EndTrace().ok());
  const auto trace = TraceReader::Open(db.file_system(), kTrace);
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(CallsIn(db.file_system()),
            std::vector<std::string>{absl::StrCat(
                "get #", filter::HashKey("a very private key", (*trace)->header().hash_seed))});
  const std::string bytes = *ReadFile(db.file_system(), kTrace, 1 << 20);
  EXPECT_EQ(bytes.find("private"), std::string::npos);
}

TEST(Trace, HashesSayOfWhichPartOfKeysTheyAre) {
  Options options = MemoryDb::Quiet();
  options.filter_key = "prefix:4";
  MemoryDb db(options);
  ASSERT_TRUE(db->StartTrace({.hash_keys = true}, kTrace).ok());
  db.Put("plum", "red");
  db.Get("apple");
  db.Get("apples");
  ASSERT_TRUE(db->SetFilter("", "whole").ok());
  db.Get("apples");
  ASSERT_TRUE(db->EndTrace().ok());
  const auto trace = TraceReader::Open(db.file_system(), kTrace);
  ASSERT_TRUE(trace.ok());
  TraceRecord record;
  std::vector<std::string> parts;
  std::vector<uint64_t> hashes;
  while (*(*trace)->Next(&record)) {
    parts.emplace_back((*trace)->HashedPart(record.family_id));
    hashes.push_back(record.key_hash);
  }
  EXPECT_EQ(parts, (std::vector<std::string>{"", "prefix:4", "prefix:4", "whole"}));
  EXPECT_EQ(hashes[1], hashes[2]);
  EXPECT_NE(hashes[2], hashes[3]);
  EXPECT_EQ((*trace)->HashedPart(1), "");
}

TEST(Trace, KeepsToItsSizeAndCountsWhatItLeavesOut) {
  MemoryDb db;
  ASSERT_TRUE(db->StartTrace({.max_bytes = 4096}, kTrace).ok());
  for (int i = 0; i < 10000; i++) db.Get(absl::StrCat("key", i));
  const auto info = db->EndTrace();
  ASSERT_TRUE(info.ok());
  EXPECT_LE(*db.file_system().FileSize(kTrace), 4096u);
  EXPECT_EQ(info->calls_recorded + info->calls_not_recorded, 10000u);
  EXPECT_EQ(CallsIn(db.file_system()).size(), info->calls_recorded);
  EXPECT_GT(info->calls_recorded, 100u);
}

TEST(Trace, ChoosesKeysAndNotCalls) {
  MemoryDb db;
  ASSERT_TRUE(db->StartTrace({.one_in = 10}, kTrace).ok());
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 1000; i++) db.Get(absl::StrCat("key", i));
  }
  ASSERT_TRUE(db->EndTrace().ok());
  const std::vector<std::string> calls = CallsIn(db.file_system());
  ASSERT_EQ(calls.size() % 3, 0u);
  const size_t keys = calls.size() / 3;
  EXPECT_GT(keys, 60u);
  EXPECT_LT(keys, 150u);
  for (size_t i = 0; i < keys; i++) EXPECT_EQ(calls[i], calls[i + 2 * keys]);
}

TEST(Trace, RefusesWhatCannotBe) {
  MemoryDb db;
  EXPECT_TRUE(absl::IsFailedPrecondition(db->EndTrace().status()));
  EXPECT_TRUE(absl::IsInvalidArgument(db->StartTrace({.max_bytes = 1}, kTrace)));
  EXPECT_TRUE(absl::IsInvalidArgument(db->StartTrace({.one_in = 0}, kTrace)));
  ASSERT_TRUE(db->StartTrace({}, kTrace).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(db->StartTrace({}, "/other.trace")));
  ASSERT_TRUE(db->EndTrace().ok());
  EXPECT_TRUE(absl::IsAlreadyExists(db->StartTrace({}, kTrace)));
  // Close ends it, and what was recorded is there.
  ASSERT_TRUE(db->StartTrace({}, "/other.trace").ok());
  db.Get("last");
  ASSERT_TRUE(db->Close().ok());
  EXPECT_EQ(CallsIn(db.file_system(), "/other.trace"), std::vector<std::string>{"get last"});
  EXPECT_TRUE(absl::IsFailedPrecondition(db->StartTrace({}, "/third.trace")));
}

TEST(Trace, AFullDiskFailsNoCall) {
  const auto memory = NewUnrecordedFileSystem();
  FaultFileSystem faults(memory.get(), 1);
  Options options = MemoryDb::Quiet();
  options.file_system = &faults;
  const auto db = OpenOrFail(options, "/db");
  ASSERT_TRUE(db->StartTrace({}, kTrace).ok());
  faults.Add(FaultRule::Error(InjectedFullDisk()).On({FileOperation::Kind::kAppend}, kTrace));
  std::string value;
  for (int i = 0; i < 20000; i++) {
    ASSERT_TRUE(absl::IsNotFound(db->Get(ReadOptions(), absl::StrCat("key", i), &value)));
  }
  ASSERT_TRUE(db->Put(WriteOptions(), "key", "1").ok());
  EXPECT_TRUE(absl::IsResourceExhausted(db->EndTrace().status()));
}

TEST(Trace, ThreadsShareOne) {
  MemoryDb db;
  ASSERT_TRUE(db->StartTrace({}, kTrace).ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([&db, t] {
      for (int i = 0; i < 500; i++) db.Get(absl::StrCat("thread", t, " key ", i));
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(db->EndTrace().ok());
  EXPECT_EQ(CallsIn(db.file_system()).size(), 2000u);
}

std::string ExampleTrace() {
  TraceHeader header;
  header.hash_seed = 7;
  header.start_micros = 1767225600000000;
  std::string payload;
  TraceRecord get;
  get.call = TraceCall::kGet;
  get.micros = 5;
  get.key = "apple";
  AppendTraceRecord(get, false, 0, &payload);
  TraceRecord put;
  put.call = TraceCall::kPut;
  put.micros = 12;
  put.key = "plum";
  put.value_bytes = 3;
  AppendTraceRecord(put, false, 5, &payload);
  return header.Encode() + TraceFrame(payload, kTraceHeaderBytes);
}

void WriteTrace(FileSystem& files, std::string_view bytes) {
  auto file = files.Create(kTrace, {});
  ASSERT_TRUE((*file)->Append(bytes).ok() && (*file)->Close().ok());
}

TEST(Trace, EveryDamagedByteIsNoticed) {
  const auto files = NewUnrecordedFileSystem();
  const std::string sound = ExampleTrace();
  const std::vector<std::string> calls = {"get apple", "put plum 3"};
  WriteTrace(*files, sound);
  EXPECT_EQ(CallsIn(*files), calls);
  for (size_t at = 0; at < sound.size(); at++) {
    std::string damaged = sound;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x11);
    WriteTrace(*files, damaged);
    EXPECT_NE(CallsIn(*files), calls) << at;
  }
  for (size_t size = 0; size < sound.size(); size++) {
    WriteTrace(*files, sound.substr(0, size));
    EXPECT_NE(CallsIn(*files), calls) << size;
  }
}

TEST(Trace, TheExampleInFormatMdIsWhatIsWritten) {
  const std::string bytes = ExampleTrace();
  AnnotatedDump dump(bytes);
  dump.Field(8, "magic \"WNNTRACE\"");
  dump.Field(8, "checksum");
  dump.Field(2, "major version");
  dump.Field(2, "minor version");
  dump.Field(4, "flags");
  dump.Field(8, "hash seed");
  dump.Field(8, "microseconds since 1970");
  dump.Field(4, "one key in 1");
  dump.Field(4, "zero");
  dump.Field(4, "frame: size of the payload");
  dump.Field(8, "checksum");
  dump.Field(1, "get");
  dump.Field(1, "column family 0");
  dump.Field(1, "after 5 microseconds");
  dump.Field(1, "length of the key");
  dump.Field(5, "\"apple\"");
  dump.Field(1, "put");
  dump.Field(1, "column family 0");
  dump.Field(1, "after 7 microseconds");
  dump.Field(1, "length of the key");
  dump.Field(4, "\"plum\"");
  dump.Field(1, "length of the value");
  ASSERT_EQ(dump.offset(), bytes.size());
  const std::string document =
      *ReadFile(*PosixFileSystem(), WINNOW_SOURCE_DIR "/engine/trace/FORMAT.md", 1 << 20);
  EXPECT_EQ(LastExampleOf(document), dump.text()) << dump.text();
}

}  // namespace
}  // namespace winnow::trace
