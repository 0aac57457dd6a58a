// The manifest: what was applied is there again after recovery, and what is damaged is refused.
#include "engine/version/version_set.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "engine/log/log_writer.h"
#include "engine/sstable/sstable_builder.h"
#include "engine/version/file_names.h"
#include "filter/base/mutex.h"
#include "tests/support/db_fixture.h"
#include "tests/support/sstable_metadata.h"
#include "winnow/memory_file_system.h"

namespace winnow {
namespace {

const Comparator* Bytewise(std::string_view, std::string_view name) {
  return name == BytewiseComparator()->Name() ? BytewiseComparator() : nullptr;
}

// A version set with the lock that it wants. The analysis cannot see that the set's pointer is to
// this lock.
struct Opened {
  explicit Opened(FileSystem* file_system) : versions({file_system, "/db", nullptr}, &mutex) {}

  absl::Status Apply(VersionEdit edit) {
    DatabaseLock lock(&mutex);
    return versions.LogAndApply(std::move(edit));
  }
  absl::Status ApplyCreation(VersionEdit edit, const FamilyRecord& family) {
    DatabaseLock lock(&mutex);
    return versions.LogAndCreateFamily(std::move(edit), family);
  }
  absl::StatusOr<VersionSet::ReadableState> ReadState(const std::string& path, uint64_t number) {
    DatabaseLock lock(&mutex);
    return versions.ReadState(path, number);
  }
  void Start() {
    DatabaseLock lock(&mutex);
    const absl::Status started = versions.StartManifest(/*log_number=*/0);
    ASSERT_TRUE(started.ok()) << started.ToString();
  }
  void Close() {
    DatabaseLock lock(&mutex);
    ASSERT_TRUE(versions.Close().ok());
  }

  DatabaseMutex mutex;
  VersionSet versions;
};

class VersionSetTest : public testing::Test {
 protected:
  VersionSetTest() { EXPECT_TRUE(file_system_->CreateDirectories("/db").ok()); }

  std::unique_ptr<Opened> Create() {
    auto opened = std::make_unique<Opened>(file_system_.get());
    FamilyRecord family;
    family.comparator = BytewiseComparator();
    family.filter = "none";
    family.filter_key = "whole";
    opened->versions.CreateNew(std::move(family));
    opened->Start();
    return opened;
  }
  absl::Status Recover(std::unique_ptr<Opened>* opened) {
    *opened = std::make_unique<Opened>(file_system_.get());
    return (*opened)->versions.Recover(Bytewise);
  }

  // Writes an SSTable that holds one key.
  FileMetadata MakeTable(Opened& opened, const std::string& key) {
    const uint64_t number = opened.versions.NewFileNumber();
    const std::string path = SstableFileName("/db", number);
    SstableBuilder builder(SstableBuilderOptions(), *file_system_->Create(path, {}), path);
    const std::string internal_key = MakeInternalKey(key, 1, EntryType::kPut);
    EXPECT_TRUE(builder.Add(internal_key, "v").ok());
    const auto summary = builder.Finish();
    EXPECT_TRUE(summary.ok()) << summary.status().ToString();
    return MetadataOf(number, *summary);
  }

  const std::unique_ptr<FileSystem> file_system_ = NewMemoryFileSystem();
};

VersionEdit AddFile(uint32_t family, int level, const FileMetadata& file) {
  VersionEdit edit;
  FamilyEdit& change = edit.families.emplace_back();
  change.family_id = family;
  change.added.push_back({level, file});
  return edit;
}

TEST_F(VersionSetTest, RecoversFilesFamiliesAndCounters) {
  auto created = Create();
  created->versions.RaiseLastSequence(77);
  const FileMetadata a = MakeTable(*created, "a");
  const FileMetadata b = MakeTable(*created, "b");
  ASSERT_TRUE(created->Apply(AddFile(0, 0, a)).ok());
  ASSERT_TRUE(created->Apply(AddFile(0, 3, b)).ok());
  const uint64_t next = created->versions.NewFileNumber();
  const uint64_t seed = created->versions.hash_seed();
  created->Close();

  std::unique_ptr<Opened> recovered;
  ASSERT_TRUE(Recover(&recovered).ok());
  const FamilyRecord& family = recovered->versions.families().at(0);
  EXPECT_EQ(family.name, "default");
  EXPECT_EQ(family.version->num_files(0), 1u);
  EXPECT_EQ(family.version->num_files(3), 1u);
  EXPECT_EQ(recovered->versions.LiveSstables(), (std::set<uint64_t>{a.number, b.number}));
  EXPECT_EQ(recovered->versions.last_sequence(), 77u);
  EXPECT_EQ(recovered->versions.hash_seed(), seed);
  EXPECT_GE(recovered->versions.NewFileNumber(), next);
}

TEST_F(VersionSetTest, AFileThatIsDroppedIsRemovedOnceNobodyReadsIt) {
  auto created = Create();
  const FileMetadata a = MakeTable(*created, "a");
  ASSERT_TRUE(created->Apply(AddFile(0, 1, a)).ok());
  std::shared_ptr<const Version> reader = created->versions.families().at(0).version;
  VersionEdit edit;
  FamilyEdit& change = edit.families.emplace_back();
  change.deleted.push_back({1, a.number});
  ASSERT_TRUE(created->Apply(edit).ok());
  EXPECT_TRUE(*file_system_->Exists(SstableFileName("/db", a.number)));
  reader.reset();
  EXPECT_FALSE(*file_system_->Exists(SstableFileName("/db", a.number)));
}

TEST_F(VersionSetTest, OverlappingFilesBelowLevelZeroAreRefusedAndNothingIsWritten) {
  auto created = Create();
  ASSERT_TRUE(created->Apply(AddFile(0, 2, MakeTable(*created, "a"))).ok());
  EXPECT_FALSE(created->Apply(AddFile(0, 2, MakeTable(*created, "a"))).ok());
  ASSERT_TRUE(created->Apply(AddFile(0, 2, MakeTable(*created, "b"))).ok()) << "it goes on";
  created->Close();
  std::unique_ptr<Opened> recovered;
  ASSERT_TRUE(Recover(&recovered).ok());
  EXPECT_EQ(recovered->versions.families().at(0).version->num_files(2), 2u);
}

// An edit may wait for the manifest while the family it speaks of is dropped.
TEST_F(VersionSetTest, AnEditOfADroppedFamilyIsLeftOutSoThatTheManifestStaysReadable) {
  auto created = Create();
  VersionEdit create;
  FamilyEdit& family = create.families.emplace_back();
  family.family_id = created->versions.NewFamilyId();
  family.name = "second";
  family.comparator = std::string(BytewiseComparator()->Name());
  const uint32_t id = family.family_id;
  FamilyRecord record;
  record.id = id;
  record.version = std::make_shared<const Version>(InternalKeyComparator(BytewiseComparator()),
                                                   std::array<Version::Files, kNumLevels>());
  ASSERT_TRUE(created->ApplyCreation(create, record).ok());
  VersionEdit drop;
  drop.families.emplace_back().family_id = id;
  drop.families.back().dropped = true;
  ASSERT_TRUE(created->Apply(drop).ok());

  VersionEdit late;
  late.families.emplace_back().family_id = id;
  late.families.back().log_number = 9;
  ASSERT_TRUE(created->Apply(late).ok());
  EXPECT_FALSE(created->versions.families().contains(id));
  created->Close();
  std::unique_ptr<Opened> recovered;
  const absl::Status status = Recover(&recovered);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(recovered->versions.families().size(), 1u);
}

TEST_F(VersionSetTest, AManifestThatHasGrownIsReplacedAndTheOldOneRemoved) {
  auto created = Create();
  const uint64_t first = created->versions.manifest_number();
  for (int i = 0; i < 12; i++) {
    VersionEdit edit;
    edit.families.emplace_back().filter = std::string(1 << 19, static_cast<char>('a' + i));
    ASSERT_TRUE(created->Apply(edit).ok());
  }
  EXPECT_NE(created->versions.manifest_number(), first);
  EXPECT_FALSE(*file_system_->Exists(ManifestFileName("/db", first)));
  created->Close();
  std::unique_ptr<Opened> recovered;
  ASSERT_TRUE(Recover(&recovered).ok());
  EXPECT_EQ(recovered->versions.families().at(0).filter, std::string(1 << 19, 'l'));
}

TEST_F(VersionSetTest, AMissingTableIsDataLossThatNamesIt) {
  auto created = Create();
  const FileMetadata a = MakeTable(*created, "a");
  ASSERT_TRUE(created->Apply(AddFile(0, 0, a)).ok());
  created->Close();
  created.reset();
  ASSERT_TRUE(file_system_->Remove(SstableFileName("/db", a.number)).ok());
  std::unique_ptr<Opened> recovered;
  const absl::Status status = Recover(&recovered);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status.ToString();
  EXPECT_NE(status.message().find(SstableFileName("/db", a.number)), absl::string_view::npos);
}

// Such a manifest, with right checksums, once ended the process that opened it.
TEST_F(VersionSetTest, AManifestWithoutTheDefaultFamilyIsDataLossThatNamesIt) {
  auto created = Create();
  const uint64_t manifest = created->versions.manifest_number();
  created->Close();
  created.reset();
  VersionEdit edit;
  edit.next_file_number = 10;
  FamilyEdit& family = edit.families.emplace_back();
  family.family_id = 1;
  family.name = "other";
  family.comparator = BytewiseComparator()->Name();
  const std::string path = ManifestFileName("/db", manifest);
  const auto writer =
      *LogWriter::Create(*file_system_, path, manifest, WritableFileOptions::Mode::kBuffered);
  std::string record;
  edit.EncodeTo(&record);
  ASSERT_TRUE(writer->Append(record).ok() && writer->CloseCleanly().ok());
  std::unique_ptr<Opened> recovered;
  const absl::Status status = Recover(&recovered);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_NE(status.message().find(path), absl::string_view::npos) << status;
}

// For a repair: the tables that were there before it must be in the state, and none that came with
// it.
TEST_F(VersionSetTest, AnEditThatCannotFollowIsAppliedInNoPart) {
  auto created = Create();
  const FileMetadata before = MakeTable(*created, "a");
  const FileMetadata after = MakeTable(*created, "b");
  VersionEdit first;
  first.next_file_number = 100;
  FamilyEdit& family = first.families.emplace_back();
  family.name = "default";
  family.comparator = BytewiseComparator()->Name();
  family.added.push_back({1, before});
  VersionEdit second = AddFile(0, 2, after);
  second.families[0].deleted.push_back({1, before.number});
  second.families.emplace_back().deleted.push_back({3, 99});  // which is not there
  constexpr uint64_t kNumber = 50;
  const std::string path = ManifestFileName("/db", kNumber);
  const auto writer =
      *LogWriter::Create(*file_system_, path, kNumber, WritableFileOptions::Mode::kBuffered);
  for (const VersionEdit& edit : {first, second}) {
    std::string record;
    edit.EncodeTo(&record);
    ASSERT_TRUE(writer->Append(record).ok());
  }
  ASSERT_TRUE(writer->CloseCleanly().ok());
  const auto readable = Opened(file_system_.get()).ReadState(path, kNumber);
  ASSERT_TRUE(readable.ok()) << readable.status();
  EXPECT_TRUE(absl::IsDataLoss(readable->damage)) << readable->damage;
  ASSERT_EQ(readable->state.families.size(), 1u);
  ASSERT_EQ(readable->state.families[0].added.size(), 1u);
  EXPECT_EQ(readable->state.families[0].added[0].file.number, before.number);
}

// The recorded largest id may be older than the family.
TEST_F(VersionSetTest, AFamilysIdIsNotGivenOutAgainWhateverIsRecorded) {
  auto created = Create();
  VersionEdit create;
  FamilyEdit& family = create.families.emplace_back();
  family.family_id = 9;
  family.name = "ninth";
  family.comparator = std::string(BytewiseComparator()->Name());
  FamilyRecord record;
  record.id = family.family_id;
  record.version = std::make_shared<const Version>(InternalKeyComparator(BytewiseComparator()),
                                                   std::array<Version::Files, kNumLevels>());
  ASSERT_TRUE(created->ApplyCreation(create, record).ok());
  EXPECT_EQ(created->versions.NewFamilyId(), 10u);
}

TEST_F(VersionSetTest, DamagedCurrentAndMissingManifestAreDataLossAndNoCurrentIsNotFound) {
  std::unique_ptr<Opened> recovered;
  EXPECT_TRUE(absl::IsNotFound(Recover(&recovered)));
  auto created = Create();
  const std::string manifest = ManifestFileName("/db", created->versions.manifest_number());
  created->Close();
  created.reset();
  const std::string current = *ReadFile(*file_system_, "/db/CURRENT", 1000);
  for (size_t at = 0; at < current.size(); at++) {
    std::string damaged = current;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    ASSERT_TRUE(WriteFileAtomically(*file_system_, "/db/CURRENT", damaged).ok());
    EXPECT_TRUE(absl::IsDataLoss(Recover(&recovered))) << "byte " << at;
  }
  ASSERT_TRUE(WriteFileAtomically(*file_system_, "/db/CURRENT", current).ok());
  ASSERT_TRUE(Recover(&recovered).ok());
  ASSERT_TRUE(file_system_->Remove(manifest).ok());
  EXPECT_TRUE(absl::IsDataLoss(Recover(&recovered)));
}

}  // namespace
}  // namespace winnow
