// Which items of the feed has this user seen? Answered for millions of users by one database.
//
// The key is made of two parts so that no two pairs share it: the user's number in eight bytes,
// biggest first, then the item's name. With text and a separator, user "1:2" and item "3" would
// meet user "1" and item "2:3". The fixed width also keeps a user's items together, in order.
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "winnow/db.h"

namespace {

constexpr size_t kUserBytes = 8;

std::string SeenKey(uint64_t user, std::string_view item) {
  std::string key(kUserBytes, '\0');
  for (size_t i = 0; i < kUserBytes; i++) {
    key[i] = static_cast<char>(user >> (8 * (kUserBytes - 1 - i)));
  }
  return key.append(item);
}

// The items of `feed` that the user has not seen, in the feed's order. One MultiGet asks the
// filters for all of them together. Each "maybe" of a filter is confirmed by the block that would
// hold the key: an item is never hidden because a filter was wrong.
absl::StatusOr<std::vector<std::string>> Unseen(winnow::DB& db, uint64_t user,
                                                std::span<const std::string> feed) {
  std::vector<std::string> keys;
  for (const std::string& item : feed) keys.push_back(SeenKey(user, item));
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  std::vector<winnow::PinnedValue> values(keys.size());
  std::vector<absl::Status> statuses(keys.size());
  db.MultiGet(winnow::ReadOptions(), views, values, statuses);
  std::vector<std::string> unseen;
  for (size_t i = 0; i < feed.size(); i++) {
    if (absl::IsNotFound(statuses[i])) {
      unseen.push_back(feed[i]);
    } else if (!statuses[i].ok()) {
      return statuses[i];
    }
  }
  return unseen;
}

absl::Status MarkSeen(winnow::DB& db, uint64_t user, std::span<const std::string> items) {
  winnow::WriteBatch batch;
  for (const std::string& item : items) batch.Put(SeenKey(user, item), "");
  return db.Write(winnow::WriteOptions(), batch);
}

}  // namespace

int main() {
  auto opened = winnow::DB::Open(winnow::Options(), "seen_feed_items.db");
  if (!opened.ok()) return 1;
  const std::unique_ptr<winnow::DB> db = *std::move(opened);
  const std::vector<std::string> monday = {"launch", "weather", "chess"};
  const std::vector<std::string> tuesday = {"weather", "recipe", "launch", "opera"};
  absl::Status status = MarkSeen(*db, 7, monday);
  if (status.ok()) status = db->Flush();
  for (const uint64_t user : {7, 8}) {
    const auto unseen = Unseen(*db, user, tuesday);
    if (!unseen.ok()) status = unseen.status();
    if (!status.ok()) break;
    std::cout << "user " << user << ":";
    for (const std::string& item : *unseen) std::cout << " " << item;
    std::cout << "\n";
  }
  if (status.ok()) status = db->Close();
  if (!status.ok()) std::cerr << status << "\n";
  return status.ok() ? 0 : 1;
}
