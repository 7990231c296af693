// npy.cc: see npy.h. The header is a Python dictionary with three known keys.
#include "corpus/npy.h"

#include <cstring>
#include <optional>
#include <vector>

namespace dt::corpus {
namespace {

constexpr std::string_view kNpyMagic("\x93NUMPY", 6);
constexpr char kFix[] = "; save ids with numpy.save as a one-dimensional uint16 array";

absl::Status RefusedNpy(const std::string& reason) { return DataError(reason + kFix); }

struct Header {
  std::optional<std::string> type;
  std::optional<bool> fortran;
  std::optional<std::vector<uint64_t>> shape;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  // Returns nothing if it is no such dictionary.
  std::optional<Header> Parse() {
    Header header;
    if (!Take("{")) return std::nullopt;
    while (!Take("}")) {
      const std::optional<std::string> key = Quoted();
      if (!key || !Take(":") || !Value(*key, header)) return std::nullopt;
      if (!Take(",")) {
        if (Take("}")) break;
        return std::nullopt;
      }
    }
    SkipSpace();
    if (!rest_.empty() || !header.type || !header.fortran || !header.shape) return std::nullopt;
    return header;
  }

 private:
  void SkipSpace() {
    const size_t space = rest_.find_first_not_of(" \n");
    rest_.remove_prefix(space == std::string_view::npos ? rest_.size() : space);
  }
  bool Take(std::string_view word) {
    SkipSpace();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  std::optional<std::string> Quoted() {
    SkipSpace();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) return std::nullopt;
    const size_t end = rest_.find(rest_[0], 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return text;
  }
  std::optional<uint64_t> Number() {
    SkipSpace();
    size_t digits = 0;
    uint64_t number = 0;
    while (digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9') {
      number = number * 10 + static_cast<uint64_t>(rest_[digits++] - '0');
    }
    if (digits == 0 || digits > 18) return std::nullopt;  // 18 digits fit
    rest_.remove_prefix(digits);
    return number;
  }
  std::optional<std::vector<uint64_t>> Tuple() {
    std::vector<uint64_t> numbers;
    if (!Take("(")) return std::nullopt;
    while (!Take(")")) {
      const std::optional<uint64_t> number = Number();
      if (!number) return std::nullopt;
      numbers.push_back(*number);
      if (!Take(",")) {
        if (Take(")")) break;
        return std::nullopt;
      }
    }
    return numbers;
  }
  bool Value(const std::string& key, Header& header) {
    if (key == "descr") return (header.type = Quoted()).has_value();
    if (key == "shape") return (header.shape = Tuple()).has_value();
    if (key != "fortran_order") return false;
    header.fortran = Take("True");
    return *header.fortran || Take("False");
  }

  std::string_view rest_;
};

std::string ShapeText(const std::vector<uint64_t>& shape) {
  std::string text;
  for (const uint64_t size : shape) text += (text.empty() ? "" : " × ") + std::to_string(size);
  return text.empty() ? "none" : text;
}

}  // namespace

bool IsNpy(std::string_view start) { return start.starts_with(kNpyMagic); }

absl::StatusOr<NpyLayout> ParseNpyHeader(std::string_view start, uint64_t file_bytes) {
  if (!IsNpy(start)) return RefusedNpy("is not a .npy file: it does not begin with \\x93NUMPY");
  if (start.size() < 12) return RefusedNpy("ends within its .npy header");
  const int version = static_cast<unsigned char>(start[6]);
  if (version < 1 || version > 3) {
    return RefusedNpy("has .npy version " + std::to_string(version) + "; 1 to 3 are read");
  }
  uint32_t length = 0;
  const size_t length_bytes = version == 1 ? 2 : 4;
  std::memcpy(&length, start.data() + 8, length_bytes);
  const uint64_t first_byte = 8 + length_bytes + uint64_t{length};
  if (first_byte > kNpyHeaderMax) {
    return RefusedNpy("says that its .npy header has " + std::to_string(first_byte) +
                      " bytes; at most " + std::to_string(kNpyHeaderMax) + " are read");
  }
  if (first_byte > start.size()) return RefusedNpy("ends within its .npy header");
  const std::string_view text = start.substr(8 + length_bytes, length);
  const std::optional<Header> header = Parser(text).Parse();
  if (!header) return RefusedNpy("has a .npy header that is not understood");
  if (*header->type != "<u2") {
    return RefusedNpy("has elements of type '" + *header->type + "'; only uint16, '<u2', is read");
  }
  if (*header->fortran) return RefusedNpy("is in Fortran order");
  if (header->shape->size() != 1) {
    return RefusedNpy("has " + std::to_string(header->shape->size()) + " dimensions (" +
                      ShapeText(*header->shape) + "); it must have one");
  }
  const uint64_t tokens = header->shape->front();
  if (tokens == 0) return RefusedNpy("holds no tokens");
  if (file_bytes != first_byte + 2 * tokens) {
    return DataError("says that it holds " + std::to_string(tokens) + " tokens, which take " +
                     std::to_string(first_byte + 2 * tokens) + " bytes, but it has " +
                     std::to_string(file_bytes) + "; copy or make it again");
  }
  return NpyLayout{first_byte, tokens};
}

std::string NpyHeader(uint64_t tokens) {
  std::string header(kNpyMagic);
  header += std::string("\x01\x00", 2);
  header += static_cast<char>(kNpyHeaderBytes - 10);
  header += '\0';
  header +=
      "{'descr': '<u2', 'fortran_order': False, 'shape': (" + std::to_string(tokens) + ",), }";
  header.resize(kNpyHeaderBytes - 1, ' ');
  return header + '\n';
}

}  // namespace dt::corpus
