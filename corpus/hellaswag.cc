// hellaswag.cc: see hellaswag.h.
#include "corpus/hellaswag.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "common/check.h"
#include "common/files.h"

namespace dt::corpus {
namespace {

constexpr int32_t kHellaswagMagic = 20240522;
constexpr int32_t kVersion = 1;
constexpr size_t kHeaderBytes = 256 * sizeof(int32_t);
constexpr uint16_t kStart = 65535;

absl::Status At(const std::string& path, const std::string& place, const std::string& what) {
  return DataError("'" + path + "' " + place + ": " + what);
}

// A score over no examples is no number.
absl::Status NoExamples(const std::string& path) {
  return At(path, "cannot be used", "it has no examples");
}

// Reads a packed example's numbers, never beyond its end.
class Words {
 public:
  explicit Words(std::span<const uint16_t> words) : words_(words) {}

  // Returns 0 past the end, and remembers that.
  uint16_t Next() {
    if (at_ == words_.size()) {
      short_ = true;
      return 0;
    }
    return words_[at_++];
  }
  std::vector<uint16_t> Text() {
    const size_t length = Next();
    if (length > words_.size() - at_) {
      short_ = true;
      return {};
    }
    std::vector<uint16_t> text(words_.begin() + static_cast<std::ptrdiff_t>(at_),
                               words_.begin() + static_cast<std::ptrdiff_t>(at_ + length));
    at_ += length;
    return text;
  }
  bool fits() const { return !short_ && at_ == words_.size(); }

 private:
  std::span<const uint16_t> words_;
  size_t at_ = 0;
  bool short_ = false;
};

// Checks conditions for examples of any file; returns "" if they hold.
std::string Problem(const HellaSwagExample& example, int64_t vocab_size) {
  if (example.label < 0 || example.label >= kHellaSwagEndings) {
    return "its label is " + std::to_string(example.label) + ", none of 0 to 3";
  }
  if (example.context.empty()) return "its context is empty";
  for (const std::vector<uint16_t>& ending : example.endings) {
    if (ending.empty()) return "an ending is empty";
  }
  uint16_t largest = *std::max_element(example.context.begin(), example.context.end());
  for (const std::vector<uint16_t>& ending : example.endings) {
    largest = std::max(largest, *std::max_element(ending.begin(), ending.end()));
  }
  if (largest < vocab_size) return "";
  return "it has id " + std::to_string(largest) + "; model.vocab_size is " +
         std::to_string(vocab_size) + ": was it made by another tokenizer?";
}

absl::StatusOr<std::vector<HellaSwagExample>> ReadPacked(const std::string& path,
                                                         const std::string& bytes,
                                                         int64_t vocab_size) {
  if (bytes.size() < kHeaderBytes || bytes.size() % sizeof(uint16_t) != 0) {
    return At(path, "is cut off", std::to_string(bytes.size()) + " bytes");
  }
  int32_t header[3];
  std::memcpy(header, bytes.data(), sizeof(header));
  if (header[1] != kVersion) {
    return At(path, "is packed", "version " + std::to_string(header[1]) + "; only 1 is read");
  }
  std::vector<uint16_t> words((bytes.size() - kHeaderBytes) / sizeof(uint16_t));
  if (!words.empty()) {
    std::memcpy(words.data(), bytes.data() + kHeaderBytes, words.size() * sizeof(uint16_t));
  }
  std::span<const uint16_t> rest(words);
  std::vector<HellaSwagExample> examples;
  while (!rest.empty()) {
    const std::string place = "example " + std::to_string(examples.size());
    const size_t length = rest.size() < 2 ? 0 : rest[1] / sizeof(uint16_t);
    if (rest[0] != kStart || length < 6 || length > rest.size()) {
      return At(path, place, "it does not begin as an example does, or is cut off");
    }
    Words example(rest.subspan(0, length));
    rest = rest.subspan(length);
    for (int skipped = 0; skipped < 3; ++skipped) example.Next();
    HellaSwagExample& read = examples.emplace_back();
    read.label = example.Next();
    if (example.Next() != kHellaSwagEndings)
      return At(path, place, "it does not have four endings");
    read.context = example.Text();
    for (std::vector<uint16_t>& ending : read.endings) ending = example.Text();
    if (!example.fits()) return At(path, place, "its texts are not as long as it says");
    const std::string problem = Problem(read, vocab_size);
    if (!problem.empty()) return At(path, place, problem);
  }
  if (std::cmp_not_equal(examples.size(), header[2])) {
    return At(path, "is cut off",
              "it has " + std::to_string(examples.size()) + " examples and says " +
                  std::to_string(header[2]));
  }
  if (examples.empty()) return NoExamples(path);
  return examples;
}

// Accepts a number, or a text of digits, as on the Hugging Face Hub.
std::optional<int64_t> LabelOf(const nlohmann::json& label) {
  if (label.is_number_integer()) return label.get<int64_t>();
  if (!label.is_string()) return std::nullopt;
  const auto& text = label.get_ref<const std::string&>();
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool all = error == std::errc() && end == text.data() + text.size();
  return all ? std::optional(number) : std::nullopt;
}

absl::StatusOr<HellaSwagExample> FromJson(std::string_view line, TextCodec& codec) {
  using nlohmann::json;
  const json object = json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
  const auto field = [&](const char* name) -> const json& {
    static const json kAbsent;
    const auto found = object.is_object() ? object.find(name) : object.end();
    return object.is_object() && found != object.end() ? *found : kAbsent;
  };
  const json& endings = field("endings");
  const std::optional<int64_t> label = LabelOf(field("label"));
  const bool texts = endings.is_array() && endings.size() == kHellaSwagEndings &&
                     std::all_of(endings.begin(), endings.end(),
                                 [](const json& ending) { return ending.is_string(); });
  if (!field("ctx").is_string() || !texts || !label) {
    return DataError(
        "it is not an object with a text 'ctx', four texts 'endings' and a number 'label'");
  }
  HellaSwagExample example;
  example.context = codec.Encode(field("ctx").get_ref<const std::string&>());
  for (size_t i = 0; i < example.endings.size(); ++i) {
    example.endings[i] = codec.Encode(" " + endings[i].get_ref<const std::string&>());
  }
  example.label = static_cast<int>(std::clamp<int64_t>(*label, -1, INT16_MAX));
  return example;
}

absl::StatusOr<std::vector<HellaSwagExample>> ReadText(const std::string& path,
                                                       std::string_view text, TextCodec& codec,
                                                       int64_t vocab_size) {
  std::vector<HellaSwagExample> examples;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const std::string place = "line " + std::to_string(number);
    absl::StatusOr<HellaSwagExample> example = FromJson(line, codec);
    if (!example.ok()) return At(path, place, std::string(example.status().message()));
    const std::string problem = Problem(*example, vocab_size);
    if (!problem.empty()) return At(path, place, problem);
    examples.push_back(*std::move(example));
  }
  if (examples.empty()) return NoExamples(path);
  return examples;
}

}  // namespace

absl::StatusOr<bool> IsHellaSwagText(const std::string& path) {
  DT_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  int32_t first = 0;
  if (file.bytes() >= sizeof(first)) DT_RETURN_IF_ERROR(file.ReadAt(0, &first, sizeof(first)));
  if (first == kHellaswagMagic) return false;
  char begin = '\0';
  std::memcpy(&begin, &first, 1);
  if (begin == '{') return true;
  return At(path, "is not a HellaSwag file",
            "it begins neither with llm.c's magic 20240522 nor with a JSON object");
}

absl::StatusOr<std::vector<HellaSwagExample>> ReadHellaSwag(const std::string& path,
                                                            TextCodec* codec, int64_t vocab_size) {
  DT_ASSIGN_OR_RETURN(const bool text, IsHellaSwagText(path));
  DT_ASSIGN_OR_RETURN(const std::string content, ReadFile(path, kHellaSwagBytesMax));
  if (!text) return ReadPacked(path, content, vocab_size);
  DT_CHECK(codec != nullptr);
  return ReadText(path, content, *codec, vocab_size);
}

}  // namespace dt::corpus
