// The C API's event listeners.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/engine/compat/c_api_fixture.h"

namespace winnow {
namespace {

using testing::Contains;

// Used by one database at a time, and looked at when it is closed.
struct Notes {
  int destroyed = 0;
  std::vector<std::string> kinds;
  std::vector<std::string> flushes;  // the family and the text of their ends

  static void OnEvent(void* state, const char* kind, const char* family, const char* text) {
    auto* self = static_cast<Notes*>(state);
    self->kinds.emplace_back(kind);
    if (std::string(kind) != "flush-end") return;
    self->flushes.push_back(std::string(family) + ": " + text);
  }
  static void Destroy(void* state) { static_cast<Notes*>(state)->destroyed++; }
};

using CApiEvents = CApiTest;

TEST_F(CApiEvents, AListenerHearsOfWhatADatabaseDoes) {
  Notes notes;
  Notes also;
  winnow_eventlistener_t* listener =
      winnow_eventlistener_create(&notes, Notes::Destroy, Notes::OnEvent);
  winnow_eventlistener_t* second = winnow_eventlistener_create(&also, nullptr, Notes::OnEvent);
  winnow_options_add_event_listener(options_, listener);
  winnow_options_add_event_listener(options_, second);
  winnow_options_add_event_listener(options_, nullptr);
  winnow_eventlistener_destroy(listener);
  winnow_eventlistener_destroy(second);
  Reopen();
  Put("a", "1");
  winnow_compact_range_checked(db_, nullptr, 0, nullptr, 0, &err_);
  EXPECT_EQ(TakeError(), "");
  winnow_close(db_);
  db_ = nullptr;
  ASSERT_FALSE(notes.kinds.empty());
  EXPECT_THAT(notes.kinds, Contains("database-opened"));
  EXPECT_EQ(notes.kinds.back(), "database-closed");
  EXPECT_THAT(notes.kinds, Contains("flush-begin"));
  ASSERT_EQ(notes.flushes.size(), 1U);
  EXPECT_THAT(notes.flushes.front(), testing::StartsWith("default: flush of default ends after "));
  EXPECT_EQ(also.kinds, notes.kinds);
  // The options have a share of it.
  EXPECT_EQ(notes.destroyed, 0);
  winnow_options_destroy(options_);
  options_ = nullptr;
  EXPECT_EQ(notes.destroyed, 1);
}

}  // namespace
}  // namespace winnow
