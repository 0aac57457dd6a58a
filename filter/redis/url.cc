#include "filter/redis/url.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace winnow::filter::redis {
namespace {

constexpr std::string_view kRedisScheme = "redis://";
constexpr std::string_view kUnixScheme = "unix://";
constexpr uint32_t kMaxDatabase = 16383;

bool StripPrefix(std::string_view prefix, std::string_view* text) {
  if (text->substr(0, prefix.size()) != prefix) return false;
  text->remove_prefix(prefix.size());
  return true;
}

absl::Status BadUrl(std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("Redis URL: ", std::string(what),
                   "; expected redis://[[user]:password@]host[:port][/database] or unix:///path"));
}

int HexDigit(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

// Percent-encoding alone; '+' is no space outside of queries.
absl::StatusOr<std::string> Decode(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded.push_back(text[i]);
      continue;
    }
    const int high = i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
    const int low = high >= 0 ? HexDigit(text[i + 2]) : -1;
    if (low < 0) return BadUrl("'%' without two hexadecimal digits");
    decoded.push_back(static_cast<char>(high << 4 | low));
    i += 2;
  }
  return decoded;
}

// Text to number, the whole of it.
// Digits only: SimpleAtoi by itself would take a sign and spaces.
bool ToNumber(std::string_view text, uint32_t most, uint32_t* number) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos &&
         absl::SimpleAtoi(absl::string_view(text.data(), text.size()), number) && *number <= most;
}

// The first ':' ends the user, so that a password may have more of them.
absl::Status ParseUser(std::string_view text, ServerUrl* url) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return BadUrl("a user without ':' and password");
  absl::StatusOr<std::string> user = Decode(text.substr(0, colon));
  absl::StatusOr<std::string> password = Decode(text.substr(colon + 1));
  if (!user.ok()) return user.status();
  if (!password.ok()) return password.status();
  url->user = *std::move(user);
  url->password = *std::move(password);
  return absl::OkStatus();
}

}  // namespace

// In messages, and as the name under which a client keeps a server's connections.
std::string Endpoint::ToString() const {
  return host.empty() ? socket_path : absl::StrCat(host, ":", port);
}

absl::StatusOr<Endpoint> ParseHostPort(std::string_view text, const Endpoint& asked) {
  Endpoint endpoint;
  std::string_view host = text;
  // In brackets an address keeps its colons: a port can only stand behind them.
  const size_t bracket = text.find(']');
  const size_t colon = text.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (colon != std::string_view::npos) {
    // A bare IPv6 address has several colons: cluster redirections have the port behind the last.
    const size_t last = text.rfind(':');
    host = text.substr(0, last);
    uint32_t port = 0;
    if (!ToNumber(text.substr(last + 1), 65535, &port) || port == 0) {
      return BadUrl("a port that is no number from 1 to 65535");
    }
    endpoint.port = static_cast<uint16_t>(port);
  }
  if (!host.empty() && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  absl::StatusOr<std::string> decoded = Decode(host);
  if (!decoded.ok()) return decoded.status();
  endpoint.host = decoded->empty() ? asked.host : *std::move(decoded);
  if (endpoint.host.empty()) return BadUrl("no host");
  return endpoint;
}

absl::StatusOr<ServerUrl> ParseServerUrl(std::string_view text) {
  ServerUrl url;
  if (StripPrefix(kUnixScheme, &text)) {
    if (text.empty() || text.front() != '/') return BadUrl("a socket without an absolute path");
    url.endpoint.socket_path = std::string(text);
    return url;
  }
  // Named, since the text would otherwise seem to begin nearly right.
  if (text.substr(0, 9) == "rediss://") return BadUrl("TLS is not supported");
  if (!StripPrefix(kRedisScheme, &text))
    return BadUrl("it begins with neither redis:// nor unix://");
  // The last '@': a password may have one that was not escaped.
  const size_t at = text.rfind('@');
  if (at != std::string_view::npos) {
    const absl::Status user = ParseUser(text.substr(0, at), &url);
    if (!user.ok()) return user;
    text.remove_prefix(at + 1);
  }
  // After the user's part: a password may hold a slash that was not escaped.
  const size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    const std::string_view database = text.substr(slash + 1);
    if (!database.empty() && !ToNumber(database, kMaxDatabase, &url.database)) {
      return BadUrl("a database that is no number");
    }
    text = text.substr(0, slash);
  }
  absl::StatusOr<Endpoint> endpoint = ParseHostPort(text, Endpoint());
  if (!endpoint.ok()) return endpoint.status();
  url.endpoint = *std::move(endpoint);
  return url;
}

}  // namespace winnow::filter::redis
