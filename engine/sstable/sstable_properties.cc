#include "engine/sstable/sstable_properties.h"

#include <bit>
#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "engine/base/coding.h"
#include "engine/base/internal_key.h"
#include "engine/base/status.h"
#include "engine/sstable/filter_unit_list.h"

namespace winnow {

namespace {

// One property: its name in the file and how its value is stored. Numbers are eight bytes.
// One table of fields drives encoding, decoding and printing, so that a new property is one line
// and cannot be written without being read.
struct Field {
  std::string_view name;
  bool required;
  std::function<std::string(const SstableProperties&)> get;
  std::function<bool(SstableProperties*, std::string_view)> set;
  std::function<std::string(const SstableProperties&)> show;
  bool written_if_empty = true;
};

std::string Fixed64(uint64_t value) {
  std::string bytes;
  PutFixed64(&bytes, value);
  return bytes;
}

template <typename Struct, typename T>
// Eight bytes for every number, whatever the member's type; a value that the type cannot hold is
// refused rather than truncated.
Field Number(std::string_view name, T Struct::*member, bool required = false) {
  return {
      name, required,
      [member](const SstableProperties& p) { return Fixed64(static_cast<uint64_t>(p.*member)); },
      [member](SstableProperties* p, std::string_view value) {
        if (value.size() != sizeof(uint64_t)) return false;
        p->*member = static_cast<T>(DecodeFixed64(value.data()));
        return static_cast<uint64_t>(p->*member) == DecodeFixed64(value.data());
      },
      [member](const SstableProperties& p) {
        return std::to_string(static_cast<uint64_t>(p.*member));
      }};
}

// Rates only: not a number, or outside [0, 1], is refused.
Field Real(std::string_view name, double SstableFigures::*member) {
  return {
      name, false,
      [member](const SstableProperties& p) { return Fixed64(std::bit_cast<uint64_t>(p.*member)); },
      [member](SstableProperties* p, std::string_view value) {
        if (value.size() != sizeof(uint64_t)) return false;
        p->*member = std::bit_cast<double>(DecodeFixed64(value.data()));
        return p->*member >= 0 && p->*member <= 1;
      },
      [member](const SstableProperties& p) { return absl::StrCat(p.*member); }};
}

// 1; false is left out.
Field Flag(std::string_view name, bool SstableProperties::*member) {
  return {name, false,
          [member](const SstableProperties& p) { return p.*member ? Fixed64(1) : std::string(); },
          [member](SstableProperties* p, std::string_view value) {
            p->*member = value == Fixed64(1);
            return p->*member;
          },
          [member](const SstableProperties& p) { return std::string(p.*member ? "1" : ""); }};
}

// A number that is left out if it is 0.
template <typename Struct, typename T>
Field Count(std::string_view name, T Struct::*member) {
  Field field = Number(name, member);
  field.get = [member](const SstableProperties& p) {
    return p.*member == 0 ? std::string() : Fixed64(static_cast<uint64_t>(p.*member));
  };
  field.show = [member](const SstableProperties& p) {
    return p.*member == 0 ? std::string() : std::to_string(static_cast<uint64_t>(p.*member));
  };
  field.written_if_empty = false;
  return field;
}

// Shown escaped: keys and names may hold any bytes.
Field Text(std::string_view name, std::string SstableProperties::*member, bool required = false) {
  return {name, required, [member](const SstableProperties& p) { return p.*member; },
          [member](SstableProperties* p, std::string_view value) {
            p->*member = std::string(value);
            return true;
          },
          [member](const SstableProperties& p) { return absl::CHexEscape(p.*member); }};
}

// Left out of tables without write times.
Field OfWriteTimes(std::string_view name, uint64_t WriteTimes::*member) {
  const auto get = [member](const SstableProperties& p) { return p.write_times.*member; };
  return {name,
          false,
          [get](const SstableProperties& p) {
            return p.write_times.num_entries == 0 ? std::string() : Fixed64(get(p));
          },
          [member](SstableProperties* p, std::string_view value) {
            if (value.size() != sizeof(uint64_t)) return false;
            p->write_times.*member = DecodeFixed64(value.data());
            return true;
          },
          [get](const SstableProperties& p) {
            return p.write_times.num_entries == 0 ? std::string() : std::to_string(get(p));
          },
          /*written_if_empty=*/false};
}

// Four numbers, in the order of the struct's members.
constexpr uint64_t KeyTimes::*kKeyTimes[] = {&KeyTimes::oldest, &KeyTimes::end,
                                             &KeyTimes::marker_end, &KeyTimes::far_marker_end};

std::string EncodeKeyTimes(const SstableProperties& properties) {
  std::string bytes;
  if (!properties.key_times.has_value()) return bytes;
  for (const auto member : kKeyTimes) PutFixed64(&bytes, (*properties.key_times).*member);
  return bytes;
}

bool DecodeKeyTimes(SstableProperties* properties, std::string_view value) {
  KeyTimes times;
  for (const auto member : kKeyTimes) {
    if (!GetFixed64(&value, &(times.*member))) return false;
  }
  properties->key_times = times;
  return value.empty() && times.IsPossible();
}

std::string ShowKeyTimes(const SstableProperties& properties) {
  return properties.key_times.has_value() ? properties.key_times->DebugString() : std::string();
}

// For what most tables do not have: its absence says the same as an empty value.
Field WithoutEmpty(Field field) {
  field.written_if_empty = false;
  return field;
}

// A number that tables without what it counts do not have.
Field WithoutZero(Field field, uint64_t SstableProperties::*member) {
  field.get = [member, get = std::move(field.get)](const SstableProperties& p) {
    return p.*member == 0 ? std::string() : get(p);
  };
  field.show = [member, show = std::move(field.show)](const SstableProperties& p) {
    return p.*member == 0 ? std::string() : show(p);
  };
  return WithoutEmpty(std::move(field));
}

std::string EncodeFilterUnits(const SstableProperties& properties) {
  return EncodeUnitList(properties.filter_units);
}

bool DecodeFilterUnits(SstableProperties* properties, std::string_view value) {
  return DecodeUnitList(value, &properties->filter_units);
}

std::string ShowFilterUnits(const SstableProperties& properties) {
  std::string text;
  for (const filter::BuiltUnit& unit : properties.filter_units) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", unit.bytes, " bytes at ", unit.expected_fpr);
  }
  return text;
}

// In the order of the file. Names are the format and never change (FORMAT.md). num_entries stays
// the first, since a search for a lost properties block goes by it (sstable_frame.cc).
const std::vector<Field>& Fields() {
  using P = SstableProperties;
  static const auto* const fields = new std::vector<Field>{
      // never destroyed: used until exit
      Number("num_entries", &P::num_entries, /*required=*/true),
      Number("num_puts", &P::num_puts),
      Number("num_deletions", &P::num_deletions),
      WithoutZero(Number("num_merges", &P::num_merges), &P::num_merges),
      Count("num_range_deletions", &P::num_range_deletions),
      Count("range_tombstone_bytes", &P::range_tombstone_bytes),
      OfWriteTimes("num_with_write_time", &WriteTimes::num_entries),
      OfWriteTimes("oldest_write_time", &WriteTimes::oldest),
      OfWriteTimes("newest_write_time", &WriteTimes::newest),
      WithoutEmpty({"key_times", false, EncodeKeyTimes, DecodeKeyTimes, ShowKeyTimes}),
      Number("raw_key_bytes", &P::raw_key_bytes),
      Number("raw_value_bytes", &P::raw_value_bytes),
      Number("num_data_blocks", &P::num_data_blocks, /*required=*/true),
      Number("data_bytes", &P::data_bytes, /*required=*/true),
      Number("index_bytes", &P::index_bytes),
      Number("index_partitions", &P::index_partitions),
      Text("smallest_user_key", &P::smallest_user_key, /*required=*/true),
      Text("largest_user_key", &P::largest_user_key, /*required=*/true),
      Number("smallest_sequence", &P::smallest_sequence),
      Number("largest_sequence", &P::largest_sequence),
      Text("filter_spec", &P::filter_spec, /*required=*/true),
      Text("filter_key", &P::filter_key, /*required=*/true),
      WithoutEmpty(Text("filter_policy", &P::filter_policy)),
      Number("hash_seed", &P::hash_seed, /*required=*/true),
      Number("num_filter_keys", &P::num_filter_keys),
      Number("filter_bytes", &P::filter_bytes),
      Real("expected_fpr", &P::expected_fpr),
      WithoutEmpty({"filter_units", false, EncodeFilterUnits, DecodeFilterUnits, ShowFilterUnits}),
      Number("filter_fell_back", &P::filter_fell_back),
      Count("range_filter_bytes", &P::range_filter_bytes),
      Count("num_signatures", &P::num_signatures),
      Count("signature_bytes", &P::signature_bytes),
      Count("signature_index_bytes", &P::signature_index_bytes),
      Count("key_hash_bytes", &P::key_hash_bytes),
      Text("comparator", &P::comparator_name, /*required=*/true),
      WithoutEmpty(Text("merge_operator", &P::merge_operator_name)),
      Count("ttl_seconds", &P::ttl_seconds),
      Number("compression", &P::compression),
      Number("column_family_id", &P::column_family_id),
      Text("column_family_name", &P::column_family_name),
      Number("creation_time_seconds", &P::creation_time_seconds),
      Number("level_at_creation", &P::level_at_creation),
      WithoutEmpty(Flag("external", &P::is_external)),
  };
  return *fields;
}

}  // namespace

// A list of (name, value), both length-prefixed. Readers skip names that they do not know:
// properties can be added without a new version.
std::string SstableProperties::Encode() const {
  std::string out;
  for (const Field& field : Fields()) {
    const std::string value = field.get(*this);
    if (value.empty() && !field.written_if_empty) continue;
    PutLengthPrefixed(&out, field.name);
    PutLengthPrefixed(&out, value);
  }
  return out;
}

// A name may come once. Those without which a table cannot be read rightly are required; statistics
// are not, so that files of older versions open.
absl::StatusOr<SstableProperties> SstableProperties::Decode(std::string_view block) {
  SstableProperties properties;
  const std::vector<Field>& fields = Fields();
  std::vector<bool> seen(fields.size());
  while (!block.empty()) {
    std::string_view name;
    std::string_view value;
    if (!GetLengthPrefixed(&block, &name) || !GetLengthPrefixed(&block, &value)) {
      return absl::DataLossError("properties: malformed list");
    }
    // A name that no field has is passed over.
    for (size_t i = 0; i < fields.size(); i++) {
      if (fields[i].name != name) continue;
      // A repeated name would let two readers disagree on which value holds.
      if (seen[i] || !fields[i].set(&properties, value)) {
        return absl::DataLossError(absl::StrCat("properties: bad value of ", ToAbsl(name)));
      }
      seen[i] = true;
    }
  }
  if (properties.smallest_sequence > kMaxSequenceNumber ||
      properties.largest_sequence > kMaxSequenceNumber) {
    return absl::DataLossError("properties: a sequence number above the largest that there is");
  }
  for (size_t i = 0; i < fields.size(); i++) {
    if (fields[i].required && !seen[i]) {
      return absl::DataLossError(absl::StrCat("properties: no ", ToAbsl(fields[i].name)));
    }
  }
  return properties;
}

// One "name: value" a line, in the order of the file, for tools and transcripts.
std::string SstableProperties::DebugString() const {
  std::string out;
  for (const Field& field : Fields()) {
    const std::string shown = field.show(*this);
    if (shown.empty() && !field.written_if_empty) continue;
    absl::StrAppend(&out, ToAbsl(field.name), ": ", shown, "\n");
  }
  return out;
}

}  // namespace winnow
