// Write batches: what was put in comes out in order, and damaged bytes are refused.
#include "winnow/write_batch.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/write/batch_format.h"
#include "winnow/db.h"

namespace winnow {
namespace {

class FakeFamily final : public ColumnFamily {
 public:
  explicit FakeFamily(uint32_t id) : id_(id) {}
  ~FakeFamily() override = default;
  std::string_view name() const override { return "fake"; }
  uint32_t id() const override { return id_; }

 private:
  const uint32_t id_;
};

// Writes down each call; fails the one numbered `fail_at`.
class Listener final : public WriteBatch::Handler {
 public:
  absl::Status Put(uint32_t family, std::string_view key, std::string_view value) override {
    return Add(absl::StrCat("put ", family, " ", std::string(key), "=", std::string(value)));
  }
  absl::Status Delete(uint32_t family, std::string_view key) override {
    return Add(absl::StrCat("delete ", family, " ", std::string(key)));
  }

  std::vector<std::string> calls;
  size_t fail_at = SIZE_MAX;

 private:
  absl::Status Add(std::string call) {
    calls.push_back(std::move(call));
    return calls.size() - 1 == fail_at ? absl::AbortedError("enough") : absl::OkStatus();
  }
};

std::vector<std::string> CallsOf(const WriteBatch& batch) {
  Listener listener;
  const absl::Status status = batch.ForEach(listener);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return listener.calls;
}

WriteBatch Sample() {
  const FakeFamily family(300);  // an id of two bytes
  WriteBatch batch;
  batch.Put("a", "1");
  batch.Delete("b");
  batch.Put(&family, "", "");
  batch.Delete(&family, "c");
  return batch;
}

const std::vector<std::string>& SampleCalls() {
  static const auto& calls =
      *new std::vector<std::string>{"put 0 a=1", "delete 0 b", "put 300 =", "delete 300 c"};
  return calls;
}

TEST(WriteBatch, GivesBackItsUpdatesInOrder) {
  const WriteBatch batch = Sample();
  EXPECT_EQ(batch.num_updates(), 4u);
  EXPECT_EQ(CallsOf(batch), SampleCalls());
  EXPECT_EQ(CallsOf(WriteBatch::FromEncoded(batch.encoded())), SampleCalls());
  EXPECT_TRUE(CallsOf(WriteBatch()).empty());
}

TEST(WriteBatch, AppendAddsAfterwardsEvenABatchToItself) {
  WriteBatch batch;
  batch.Put("first", "x");
  batch.Append(Sample());
  EXPECT_EQ(batch.num_updates(), 5u);
  std::vector<std::string> calls = CallsOf(batch);
  EXPECT_EQ(calls[0], "put 0 first=x");
  EXPECT_EQ(std::vector<std::string>(calls.begin() + 1, calls.end()), SampleCalls());
  batch.Append(batch);
  EXPECT_EQ(batch.num_updates(), 10u);
  EXPECT_EQ(CallsOf(batch)[5], "put 0 first=x");
}

TEST(WriteBatch, ClearForgetsEverything) {
  WriteBatch batch = Sample();
  batch.Clear();
  EXPECT_EQ(batch.num_updates(), 0u);
  EXPECT_EQ(batch.encoded(), WriteBatch().encoded());
  EXPECT_EQ(WriteBatchAccess::largest_key_bytes(batch), 0u);
  EXPECT_TRUE(WriteBatchAccess::is_plain(batch));
}

// Such a batch is not looked through when it is written.
TEST(WriteBatch, IsPlainWithPutsAndDeletesOfOneFamilyAlone) {
  const FakeFamily family(300);
  const FakeFamily other(7);
  const auto of = [](auto&&... fill) {
    WriteBatch batch;
    (fill(&batch), ...);
    return batch;
  };
  const auto put = [&](WriteBatch* batch) { batch->Put(&family, "k", "v"); };
  const auto remove = [&](WriteBatch* batch) { batch->Delete(&family, "k"); };
  const auto put_other = [&](WriteBatch* batch) { batch->Put(&other, "k", "v"); };
  const auto put_default = [&](WriteBatch* batch) { batch->Put("k", "v"); };
  const auto merge = [&](WriteBatch* batch) { batch->Merge(&family, "k", "1"); };
  const auto remove_range = [&](WriteBatch* batch) { batch->DeleteRange(&family, "a", "b"); };

  const WriteBatch plain = of(put, remove);
  EXPECT_TRUE(WriteBatchAccess::is_plain(plain));
  EXPECT_EQ(WriteBatchAccess::family_id(plain), 300u);
  EXPECT_EQ(WriteBatchAccess::family_id(of(put_default)), 0u);
  EXPECT_FALSE(WriteBatchAccess::is_plain(of(put, put_other)));
  EXPECT_FALSE(WriteBatchAccess::is_plain(of(put_default, put)));
  EXPECT_FALSE(WriteBatchAccess::is_plain(of(put, put_default)));
  EXPECT_FALSE(WriteBatchAccess::is_plain(of(put, merge)));
  EXPECT_FALSE(WriteBatchAccess::is_plain(of(remove_range, put)));
  EXPECT_FALSE(WriteBatchAccess::is_plain(of(put, put_other, put)));
  EXPECT_FALSE(WriteBatchAccess::is_plain(WriteBatch::FromEncoded(plain.encoded())));

  const auto append = [](const WriteBatch& added) {
    return [&added](WriteBatch* batch) { batch->Append(added); };
  };
  const WriteBatch of_other = of(put_other);
  const WriteBatch merged = of(merge);
  const WriteBatch empty;
  EXPECT_EQ(WriteBatchAccess::family_id(of(append(plain))), 300u);
  EXPECT_TRUE(WriteBatchAccess::is_plain(of(append(empty), append(plain), append(empty))));
  EXPECT_EQ(WriteBatchAccess::family_id(of(append(plain), append(empty))), 300u);
  EXPECT_FALSE(WriteBatchAccess::is_plain(of(append(plain), append(of_other))));
  EXPECT_FALSE(WriteBatchAccess::is_plain(of(append(merged))));

  // A batch that is cut back is what it was.
  WriteBatch cut = plain;
  const WriteBatchMark mark = WriteBatchAccess::MarkOf(cut);
  put_other(&cut);
  merge(&cut);
  WriteBatchAccess::CutBackTo(mark, &cut);
  EXPECT_TRUE(WriteBatchAccess::is_plain(cut));
  EXPECT_EQ(WriteBatchAccess::family_id(cut), 300u);
}

TEST(WriteBatch, AValueInPartsIsOneValue) {
  const FakeFamily family(300);
  WriteBatch batch;
  WriteBatchAccess::PutInParts(&batch, &family, "k", "begin", "-end");
  WriteBatchAccess::PutInParts(&batch, &family, "l", "", std::string(200, 'x'));
  EXPECT_EQ(CallsOf(batch),
            (std::vector<std::string>{"put 300 k=begin-end",
                                      absl::StrCat("put 300 l=", std::string(200, 'x'))}));
  EXPECT_EQ(WriteBatchAccess::largest_value_bytes(batch), 200u);
}

TEST(WriteBatch, ForEachStopsAtTheFirstErrorAndReturnsIt) {
  Listener listener;
  listener.fail_at = 1;
  EXPECT_TRUE(absl::IsAborted(Sample().ForEach(listener)));
  EXPECT_EQ(listener.calls.size(), 2u);
}

TEST(WriteBatch, KnowsItsLargestKeyAndValueHoweverItWasMade) {
  WriteBatch batch;
  batch.Put("a", std::string(500, 'v'));
  batch.Delete(std::string(70, 'k'));
  WriteBatch appended;
  appended.Append(batch);
  for (const WriteBatch& made : {batch, appended, WriteBatch::FromEncoded(batch.encoded())}) {
    EXPECT_EQ(WriteBatchAccess::largest_key_bytes(made), 70u);
    EXPECT_EQ(WriteBatchAccess::largest_value_bytes(made), 500u);
  }
}

TEST(WriteBatch, EveryTruncationAndEveryWrongCountIsDataLoss) {
  const std::string encoded(Sample().encoded());
  for (size_t length = 0; length < encoded.size(); length++) {
    Listener listener;
    const auto truncated = WriteBatch::FromEncoded(encoded.substr(0, length));
    EXPECT_TRUE(absl::IsDataLoss(truncated.ForEach(listener))) << length;
  }
  for (const char count : {'\0', '\3', '\5'}) {
    std::string wrong = encoded;
    wrong[8] = count;
    Listener listener;
    EXPECT_TRUE(absl::IsDataLoss(WriteBatch::FromEncoded(wrong).ForEach(listener)));
  }
  std::string unknown = encoded;
  unknown[kBatchHeaderBytes] = 4;
  Listener listener;
  EXPECT_TRUE(absl::IsDataLoss(WriteBatch::FromEncoded(unknown).ForEach(listener)));
}

}  // namespace
}  // namespace winnow
