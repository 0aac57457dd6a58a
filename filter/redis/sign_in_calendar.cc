#include <bit>

#include "absl/strings/str_cat.h"
#include "filter/base/out_of_memory.h"
#include "winnow/filter/redis/bit_sets.h"

namespace winnow::filter::redis {
namespace {

constexpr int kMaxDays = 31;

// The Gregorian rule. Days that a month has not are refused on writing, so that its string never
// has more bits than days.
int DaysOf(int year, int month) {
  if (month == 2) {
    const bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return is_leap ? 29 : 28;
  }
  return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : kMaxDays;
}

absl::Status CheckMonth(int year, int month) {
  if (year < 1 || year > 9999 || month < 1 || month > 12) {
    return absl::InvalidArgumentError(
        absl::StrCat("sign-in calendar: there is no month ", year, "-", month));
  }
  return absl::OkStatus();
}

}  // namespace

SignInMonth SignInMonth::FromString(std::string_view value) {
  SignInMonth month;
  // Redis's order: day 1 is the highest bit of the first byte. A string may end with the last day
  // that was set.
  for (int day = 0; day < kMaxDays && static_cast<size_t>(day / 8) < value.size(); ++day) {
    const auto byte = static_cast<uint8_t>(value[static_cast<size_t>(day / 8)]);
    if ((byte >> (7 - day % 8) & 1) != 0) month.days_ |= uint32_t{1} << day;
  }
  return month;
}

bool SignInMonth::SignedIn(int day) const {
  return day >= 1 && day <= kMaxDays && (days_ >> (day - 1) & 1) != 0;
}

int SignInMonth::Count() const { return std::popcount(days_); }

std::vector<int> SignInMonth::Days() const {
  std::vector<int> days;
  for (int day = 1; day <= kMaxDays; ++day) {
    if (SignedIn(day)) days.push_back(day);
  }
  return days;
}

int SignInMonth::Streak(int day) const {
  if (day < 1 || day > kMaxDays) return 0;
  // `day` becomes the highest bit, and the ones from there down are the days before it.
  return std::countl_one(days_ << (32 - day));
}

int SignInMonth::LongestStreak() const {
  int longest = 0;
  // Each step shortens every run of ones by one day.
  for (uint32_t runs = days_; runs != 0; runs &= runs << 1) ++longest;
  return longest;
}

int SignInMonth::FirstMissedDay() const { return std::countr_one(days_) + 1; }

std::string SignInCalendar::KeyOf(std::string_view user, int year, int month) const {
  // The month's digits have a fixed width at the end: no two users and months share a key, whatever
  // the user's name is.
  return absl::StrCat(prefix_, ":", std::string(user), ":", absl::Dec(year, absl::kZeroPad4),
                      absl::Dec(month, absl::kZeroPad2));
}

absl::StatusOr<bool> SignInCalendar::SignIn(std::string_view user, int year, int month, int day) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<bool> {
    const absl::Status status = CheckMonth(year, month);
    if (!status.ok()) return status;
    if (day < 1 || day > DaysOf(year, month)) {
      return absl::InvalidArgumentError(absl::StrCat("sign-in calendar: there is no day ",
                                                     absl::Dec(year, absl::kZeroPad4), "-",
                                                     absl::Dec(month, absl::kZeroPad2), "-", day));
    }
    const std::string key = KeyOf(user, year, month);
    Request request;
    // SETBIT gives the bit as it was: two sign-ins at once are told apart by the server.
    request.Command({"SETBIT", key, std::to_string(day - 1), "1"});
    const absl::StatusOr<Reply> before = client_->ExecuteOne(key, request);
    if (!before.ok()) return before.status();
    return before->integer == 0;
  });
}

absl::StatusOr<SignInMonth> SignInCalendar::Month(std::string_view user, int year, int month) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<SignInMonth> {
    const absl::Status status = CheckMonth(year, month);
    if (!status.ok()) return status;
    const std::string key = KeyOf(user, year, month);
    Request request;
    // Four bytes have all of a month, however long the string under that name is.
    request.Command({"GETRANGE", key, "0", "3"});
    const absl::StatusOr<Reply> value = client_->ExecuteOne(key, request);
    if (!value.ok()) return value.status();
    return SignInMonth::FromString(value->text);
  });
}

}  // namespace winnow::filter::redis
