// Any text as a filter spec: refused with a reason, or read, written and read back the same.

#include <string_view>

#include "tests/fuzz/fuzz_target.h"
#include "winnow/filter/filter_key.h"
#include "winnow/filter/sizing.h"
#include "winnow/filter/spec.h"

using winnow::filter::FilterKind;
using winnow::fuzz::Require;

std::vector<std::string> winnow::fuzz::Seeds() {
  return {"blocked_bloom:10",
          "cuckoo:0.1%",
          "bloom:1%:word",
          "none",
          "bloom",
          "prefix:8",
          "delimiter:0x2f",
          "whole",
          "whole+prefix:8",
          "component:2+component:1",
          "delimiter:+:2+prefix:4+delimiter:\\x00",
          "bloom:1e-3%",
          ":",
          "",
          "cuckoo:12.5",
          "blocked_bloom:1e300",
          "cuckoo:1%:semi_sorted",
          "cuckoo:semi_sorted"};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto spec = winnow::filter::ParseFilterSpec(text);
  if (spec.ok()) {
    Require(winnow::filter::ValidateFilterSpec(*spec).ok(), "what was parsed is valid");
    const auto again = winnow::filter::ParseFilterSpec(winnow::filter::ToString(*spec));
    Require(again.ok() && *again == *spec, "a spec's text is read back to the same spec");
    const double bits = winnow::filter::SpecBitsPerKey(*spec);
    Require(bits >= 0 && bits <= 64, "bits per key are in range");
  } else {
    Require(!spec.status().message().empty(), "a refusal has a reason");
  }
  const auto extractor = winnow::filter::FilterKeyExtractor::Parse(text);
  Require(extractor.ok() || !extractor.status().message().empty(), "a refusal has a reason");
  if (extractor.ok()) {
    const auto again = winnow::filter::FilterKeyExtractor::Parse(extractor->ToString());
    Require(again.ok() && *again == *extractor, "a filter key's text is read back");
  }
  return 0;
}
