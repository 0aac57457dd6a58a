// Commands for a Redis server, collected so that one round trip carries them all.
//
//   Request request;
//   request.Command({"SETBIT", "users", "7", "1"});
//   request.Command({"BITCOUNT", "users"});
//   absl::StatusOr<std::vector<Reply>> replies = client->Execute("users", request);

#ifndef WINNOW_FILTER_REDIS_REQUEST_H_
#define WINNOW_FILTER_REDIS_REQUEST_H_

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace winnow::filter::redis {

// No command should have more arguments: Lua's unpack refuses about 8000.
inline constexpr size_t kMaxArguments = 7000;

// A Lua script with its SHA-1, by which a server knows those that it has run before. Scripts live
// as long as the program.
class Script {
 public:
  explicit Script(std::string body);

  const std::string& body() const { return body_; }
  const std::string& sha1() const { return sha1_; }

 private:
  std::string body_;
  std::string sha1_;  // 40 lower-case digits
};

class Request {
 public:
  // One whole command.
  void Command(std::initializer_list<std::string_view> arguments);
  // A command of so many arguments, its name included, which Append gives.
  void Begin(size_t num_arguments);
  // A script: its keys follow, and then `num_arguments` by Append. Sent by its SHA-1, and whole to
  // a server that does not know it.
  void BeginScript(const Script& script, std::span<const std::string> keys, size_t num_arguments);
  void Append(std::string_view argument);
  void Append(uint64_t number);

  size_t num_commands() const { return commands_.size(); }

 private:
  friend class Client;
  friend class Connection;

  struct Place {
    size_t begin;
    const Script* script;  // null for an ordinary command
    size_t num_arguments;
    size_t after_sha1;  // of a script: where its number of keys begins
  };

  // Appends command i as it is sent; with `whole_script` with its script's text.
  void AppendCommand(size_t i, bool whole_script, std::string* bytes) const;

  std::string bytes_;
  std::vector<Place> commands_;
};

}  // namespace winnow::filter::redis

#endif  // WINNOW_FILTER_REDIS_REQUEST_H_
