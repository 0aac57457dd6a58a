// Apart from engine.cc, whose list of engines a module that holds one engine does not need.
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tools/winnow_bench/engine.h"

namespace winnow::bench {

absl::StatusOr<double> PeerBloomBits(std::string_view engine, std::string_view spec) {
  if (spec == "none") return 0;
  const size_t colon = spec.find(':');
  std::string_view kind = spec.substr(0, colon);
  const std::string_view amount =
      colon == std::string_view::npos ? std::string_view("10") : spec.substr(colon + 1);
  if (kind.size() > engine.size() && kind.starts_with(engine) && kind[engine.size()] == '.') {
    kind.remove_prefix(engine.size() + 1);
  }
  double bits = 0;
  if ((kind == "bloom" || kind == "blocked_bloom") &&
      absl::SimpleAtod(absl::string_view(amount.data(), amount.size()), &bits) && bits >= 1 &&
      bits <= 100) {
    return bits;
  }
  const absl::string_view peer(engine.data(), engine.size());
  return absl::InvalidArgumentError(absl::StrCat(
      peer, " has no filter \"", absl::string_view(spec.data(), spec.size()),
      "\"; give it its own beside Winnow's, such as --filter=cuckoo:12,", peer, ".bloom:12"));
}

}  // namespace winnow::bench
