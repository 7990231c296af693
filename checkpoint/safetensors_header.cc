// safetensors_header.cc: parses the header's JSON as a stream of events, so that nesting, repeated
// keys and long numbers are refused at the first check.
#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "checkpoint/safetensors.h"

namespace dt::checkpoint {
namespace {

constexpr std::pair<DType, const char*> kNames[] = {
    {DType::kF64, "F64"},  {DType::kI64, "I64"}, {DType::kU64, "U64"}, {DType::kF32, "F32"},
    {DType::kI32, "I32"},  {DType::kU32, "U32"}, {DType::kF16, "F16"}, {DType::kBF16, "BF16"},
    {DType::kI16, "I16"},  {DType::kU16, "U16"}, {DType::kI8, "I8"},   {DType::kU8, "U8"},
    {DType::kBool, "BOOL"}};

// Makes a name from a file safe to show: it may be long and hold anything.
std::string Shown(std::string_view name) {
  std::string shown = "'";
  for (const char c : name.substr(0, 100)) shown += c >= ' ' && c != 0x7f ? c : '?';
  return shown + (name.size() > 100 ? "…'" : "'");
}

absl::Status Malformed(std::string reason) {
  return DamagedError("safetensors header: " + std::move(reason));
}

// The part of one tensor's object that was read so far.
struct Draft {
  std::string name;
  std::optional<DType> dtype;
  std::optional<std::vector<uint64_t>> shape;
  std::optional<std::vector<uint64_t>> offsets;
};

// Accepts the events of {"name": {"dtype": …, "shape": […], "data_offsets": […]}, "__metadata__":
// {…}} and nothing else. A handler returns false to stop the parser, with the reason in error().
class HeaderEvents {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  std::vector<Draft> drafts;
  std::map<std::string, std::string> metadata;
  const std::string& error() const { return error_; }

  bool null() { return Refuse("null"); }
  bool boolean(bool) { return Refuse("a truth value"); }
  bool number_integer(number_integer_t) { return Refuse("a negative number"); }
  bool number_float(number_float_t, const string_t&) { return Refuse("a fraction"); }
  bool binary(binary_t&) { return Refuse("binary data"); }

  bool number_unsigned(number_unsigned_t value) {
    if (section_ == Section::kShape) {
      if (drafts.back().shape->size() == kTensorDimsMax) {
        return Fail(Shown(drafts.back().name) + " has more than " + std::to_string(kTensorDimsMax) +
                    " dimensions");
      }
      drafts.back().shape->push_back(value);
      return true;
    }
    if (section_ == Section::kOffsets && drafts.back().offsets->size() < 2) {
      drafts.back().offsets->push_back(value);
      return true;
    }
    return Refuse("a number");
  }

  bool string(string_t& value) {
    if (section_ == Section::kMetadata) {
      if (!metadata.emplace(key_, value).second) return Fail("metadata has a key twice");
      return true;
    }
    if (section_ == Section::kTensor && key_ == "dtype") {
      if (drafts.back().dtype) return Fail(Shown(drafts.back().name) + " has dtype twice");
      drafts.back().dtype = DTypeFromName(value);
      if (!drafts.back().dtype) {
        return Fail(Shown(drafts.back().name) + " has the unknown dtype " + Shown(value));
      }
      return true;
    }
    return Refuse("a text");
  }

  bool key(string_t& value) {
    key_ = std::move(value);
    return true;
  }

  bool start_object(size_t) {
    switch (section_) {
      case Section::kOutside:
        section_ = Section::kTop;
        return true;
      case Section::kTop:
        if (key_ != "__metadata__") {
          drafts.push_back(Draft{key_, {}, {}, {}});
          section_ = Section::kTensor;
          return true;
        }
        if (std::exchange(metadata_seen_, true)) return Fail("it has '__metadata__' twice");
        section_ = Section::kMetadata;
        return true;
      case Section::kTensor:
      case Section::kMetadata:
      case Section::kShape:
      case Section::kOffsets:
        break;
    }
    return Refuse("an object");
  }
  bool end_object() {
    section_ = section_ == Section::kTop ? Section::kOutside : Section::kTop;
    return true;
  }

  bool start_array(size_t) {
    if (section_ == Section::kTensor && key_ == "shape" && !drafts.back().shape) {
      drafts.back().shape.emplace();
      section_ = Section::kShape;
      return true;
    }
    if (section_ == Section::kTensor && key_ == "data_offsets" && !drafts.back().offsets) {
      drafts.back().offsets.emplace();
      section_ = Section::kOffsets;
      return true;
    }
    return Refuse("a list");
  }
  bool end_array() {
    section_ = Section::kTensor;
    return true;
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) {
    return Fail("it is not JSON at byte " + std::to_string(position));
  }

 private:
  enum class Section { kOutside, kTop, kTensor, kMetadata, kShape, kOffsets };

  bool Fail(std::string reason) {
    error_ = std::move(reason);
    return false;
  }
  bool Refuse(const char* what) {
    return Fail(std::string("it has ") + what + " at " + Shown(key_) +
                ", where the format has none");
  }

  Section section_ = Section::kOutside;
  std::string key_;
  bool metadata_seen_ = false;
  std::string error_;
};

// Returns the bytes of a tensor, or nothing if they do not fit into 64 bits.
std::optional<uint64_t> CheckedBytes(DType dtype, const std::vector<uint64_t>& shape) {
  uint64_t bytes = DTypeBytes(dtype);
  for (const uint64_t extent : shape) {
    if (extent > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
    if (__builtin_mul_overflow(bytes, extent, &bytes)) return std::nullopt;
  }
  return bytes;
}

absl::StatusOr<TensorEntry> Finished(const Draft& draft, uint64_t data_bytes) {
  if (!draft.dtype || !draft.shape || !draft.offsets || draft.offsets->size() != 2) {
    return Malformed(Shown(draft.name) + " lacks dtype, shape or two data_offsets");
  }
  const uint64_t begin = (*draft.offsets)[0];
  const uint64_t end = (*draft.offsets)[1];
  if (begin > end || end > data_bytes) {
    return Malformed(Shown(draft.name) + " has data_offsets [" + std::to_string(begin) + ", " +
                     std::to_string(end) + "], outside the " + std::to_string(data_bytes) +
                     " bytes of data");
  }
  const std::optional<uint64_t> bytes = CheckedBytes(*draft.dtype, *draft.shape);
  if (!bytes || *bytes != end - begin) {
    return Malformed(Shown(draft.name) + " has " + std::to_string(end - begin) +
                     " bytes, which is not what its dtype and shape say");
  }
  return TensorEntry{
      draft.name, *draft.dtype, {draft.shape->begin(), draft.shape->end()}, begin, end};
}

}  // namespace

size_t DTypeBytes(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kI64:
    case DType::kU64:
      return 8;
    case DType::kF32:
    case DType::kI32:
    case DType::kU32:
      return 4;
    case DType::kF16:
    case DType::kBF16:
    case DType::kI16:
    case DType::kU16:
      return 2;
    case DType::kI8:
    case DType::kU8:
    case DType::kBool:
      return 1;
  }
  return 1;
}

const char* DTypeName(DType dtype) {
  for (const auto& [candidate, name] : kNames) {
    if (candidate == dtype) return name;
  }
  return "";
}

std::optional<DType> DTypeFromName(std::string_view name) {
  for (const auto& [dtype, candidate] : kNames) {
    if (candidate == name) return dtype;
  }
  return std::nullopt;
}

absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(std::string_view header,
                                                         uint64_t data_bytes) {
  if (!header.starts_with('{')) return Malformed("it does not start with '{'");
  HeaderEvents events;
  if (!nlohmann::json::sax_parse(header.begin(), header.end(), &events)) {
    return Malformed(events.error());
  }
  SafetensorsHeader parsed;
  parsed.metadata = std::move(events.metadata);
  std::set<std::string_view> names;
  for (const Draft& draft : events.drafts) {
    if (!names.insert(draft.name).second) return Malformed(Shown(draft.name) + " appears twice");
    DT_ASSIGN_OR_RETURN(TensorEntry entry, Finished(draft, data_bytes));
    parsed.tensors.push_back(std::move(entry));
  }
  std::sort(parsed.tensors.begin(), parsed.tensors.end(),
            [](const TensorEntry& a, const TensorEntry& b) {
              return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
            });
  uint64_t covered = 0;
  for (const TensorEntry& entry : parsed.tensors) {
    if (entry.begin != covered) {
      return Malformed(Shown(entry.name) + " begins at " + std::to_string(entry.begin) +
                       "; the one before ends at " + std::to_string(covered));
    }
    covered = entry.end;
  }
  if (covered != data_bytes) {
    return Malformed("its tensors have " + std::to_string(covered) + " bytes, the file " +
                     std::to_string(data_bytes));
  }
  return parsed;
}

}  // namespace dt::checkpoint
