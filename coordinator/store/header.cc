// header.cc: checks the header's fields that are the same in every journal, and the file's length.
#include "coordinator/store/header.h"

#include <array>
#include <cstdint>
#include <string_view>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/status.h"
#include "coordinator/store/schema.h"
#include "coordinator/store/sqlite.h"

namespace dt {
namespace {

constexpr size_t kHeaderBytes = 100;

using std::string_view_literals::operator""sv;

struct Field {
  size_t offset;
  std::string_view value;
  std::string_view also;  // another accepted value; empty: none
  const char* name;
};
// In an empty file, the schema's format and the text's encoding are 0, and SQLite treats 0 as these
// values. A copy made without a write-ahead log has versions 1.
constexpr std::array<Field, 9> kFields = {{
    {0, "SQLite format 3\0"sv, "", "the format's name"},
    {16, "\x20\x00"sv, "", "the size of a page"},
    {18, "\x02\x02"sv, "\x01\x01"sv, "the format's versions"},
    {20, "\x00"sv, "", "the reserved space of a page"},
    {21, "\x40\x20\x20"sv, "", "the payload fractions of a page"},
    {44, "\x00\x00\x00\x04"sv, "\x00\x00\x00\x00"sv, "the schema's format"},
    {52, "\x00\x00\x00\x00"sv, "", "the largest root page"},
    {56, "\x00\x00\x00\x01"sv, "\x00\x00\x00\x00"sv, "the text's encoding"},
    {64, "\x00\x00\x00\x00"sv, "", "the vacuum's mode"},
}};
constexpr size_t kChanges = 24;  // number of changes to the file
constexpr size_t kPages = 28;    // the file's length after the change in kPagesAsOf
constexpr size_t kPagesAsOf = 92;
constexpr size_t kApplication = 68;

std::string BigEndian(uint64_t number) {
  std::string bytes(4, '\0');
  for (size_t i = 0; i < 4; ++i) bytes[i] = static_cast<char>(number >> (24 - 8 * i));
  return bytes;
}

// `found` and `expected` are bytes as in the file.
std::string Describe(size_t offset, const char* name, std::string_view found,
                     std::string_view expected) {
  const auto hex = [](std::string_view bytes) {
    return absl::BytesToHexString({bytes.data(), bytes.size()});
  };
  return absl::StrCat("the file's header: ", name, ", in bytes ", offset, " to ",
                      offset + found.size() - 1, ", is ", hex(found), " and should be ",
                      hex(expected));
}

// The header, and the file's length in pages. The header is empty if the file has none.
struct Beginning {
  std::string header;
  uint64_t pages = 0;
};
absl::StatusOr<Beginning> ReadBeginning(const std::string& path) {
  DT_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  Beginning beginning{{}, file.bytes() / kDatabasePageBytes};
  if (file.bytes() < kHeaderBytes) return beginning;
  beginning.header.resize(kHeaderBytes);
  DT_RETURN_IF_ERROR(file.ReadAt(0, beginning.header.data(), kHeaderBytes));
  return beginning;
}

std::string_view At(const std::string& header, size_t offset, size_t size) {
  return std::string_view(header).substr(offset, size);
}

bool Holds(const Field& field, const std::string& header) {
  const std::string_view found = At(header, field.offset, field.value.size());
  return found == field.value || (!field.also.empty() && found == field.also);
}

}  // namespace

absl::StatusOr<std::vector<std::string>> WrongInHeader(const std::string& path) {
  std::vector<std::string> wrong;
  DT_ASSIGN_OR_RETURN(const Beginning beginning, ReadBeginning(path));
  const std::string& header = beginning.header;
  // Another program's database may have another header. Our header names its owner once the first
  // commit was folded into the file.
  const bool logged = HasLog(path);
  if (header.empty()) return wrong;
  if (At(header, kApplication, 4) != BigEndian(kApplicationId) && !logged) return wrong;
  for (const Field& field : kFields) {
    if (Holds(field, header)) continue;
    wrong.push_back(Describe(field.offset, field.name, At(header, field.offset, field.value.size()),
                             field.value));
  }
  // A log has a length of its own.
  const bool counted = At(header, kChanges, 4) == At(header, kPagesAsOf, 4);
  const std::string pages = BigEndian(beginning.pages);
  const std::string_view told = At(header, kPages, 4);
  if (!logged && counted && told != pages && told != BigEndian(0)) {
    wrong.push_back(Describe(kPages, "the file's length in pages", told, pages));
  }
  return wrong;
}

absl::StatusOr<std::string> RestoredHeader(const std::string& path) {
  DT_ASSIGN_OR_RETURN(const Beginning beginning, ReadBeginning(path));
  if (beginning.header.empty()) return std::string();
  std::string restored = beginning.header;
  for (const Field& field : kFields) {
    if (Holds(field, restored)) continue;
    restored.replace(field.offset, field.value.size(), field.value);
  }
  restored.replace(kPages, 4, BigEndian(beginning.pages));
  return restored == beginning.header ? std::string() : restored;
}

}  // namespace dt
