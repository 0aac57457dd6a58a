// Any bytes as a write batch, as the log hands them to replay.

#include "engine/write/batch_format.h"
#include "engine/write/write_times.h"
#include "tests/fuzz/fuzz_target.h"
#include "winnow/write_batch.h"

std::vector<std::string> winnow::fuzz::Seeds() {
  WriteBatch batch;
  std::vector<std::string> seeds = {std::string(batch.encoded())};
  batch.Put("key", "value");
  batch.Delete("");
  batch.Merge("key", "operand");
  batch.DeleteRange("", "key");
  batch.Put(std::string(200, 'k'), std::string(300, 'v'));
  seeds.emplace_back(batch.encoded());
  seeds.emplace_back(WithWriteTimes(
                         batch, [](uint32_t) { return true; }, 1'000'000)
                         .encoded());
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  winnow::BatchReader reader(std::string_view(reinterpret_cast<const char*>(data), size));
  winnow::BatchUpdate update;
  uint64_t updates = 0;
  uint64_t bytes = 0;
  bool more = true;
  while (reader.Next(&update, &more).ok() && more) {
    updates++;
    bytes += update.key.size() + update.value.size();
    winnow::fuzz::Require(updates <= reader.num_updates() && bytes <= size,
                          "no more comes out than the batch holds");
  }
  // Whatever the bytes are: what has got its times once is not given others, and is read as before.
  const auto batch = winnow::WriteBatch::FromEncoded({reinterpret_cast<const char*>(data), size});
  const auto always = [](uint32_t) { return true; };
  const winnow::WriteBatch timed = winnow::WithWriteTimes(batch, always, 5);
  winnow::fuzz::Require(winnow::WithWriteTimes(timed, always, 7).encoded() == timed.encoded(),
                        "times stay");
  return 0;
}
