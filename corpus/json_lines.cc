// json_lines.cc: parses by events, so that other fields of a line take no memory.
#include "corpus/json_lines.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace dt::corpus {
namespace {

using nlohmann::json;

// The parser quotes its input, which may be the full line.
constexpr size_t kReasonMax = 200;

// Keeps the string of one field of the outermost object.
class TextFinder : public nlohmann::json_sax<json> {
 public:
  explicit TextFinder(const std::string& field) : field_(field) {}

  bool null() override { return Other("null"); }
  bool boolean(bool) override { return Other("true or false"); }
  bool number_integer(number_integer_t) override { return Other("a number"); }
  bool number_unsigned(number_unsigned_t) override { return Other("a number"); }
  bool number_float(number_float_t, const string_t&) override { return Other("a number"); }
  bool binary(binary_t&) override { return Other("binary"); }
  bool string(string_t& value) override {
    if (depth_ == 0) return Other("a string");
    if (wanted_) {
      text_ = std::move(value);
      what_.clear();
    }
    wanted_ = false;
    return true;
  }
  bool start_object(std::size_t) override {
    if (depth_ > 0) Other("an object");
    ++depth_;
    return true;
  }
  bool key(string_t& name) override {
    wanted_ = depth_ == 1 && name == field_;
    return true;
  }
  bool end_object() override {
    --depth_;
    return true;
  }
  bool start_array(std::size_t) override {
    if (!Other("an array")) return false;
    ++depth_;
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const json::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 9: …": the line is always 1.
    const std::string_view full = error.what();
    const size_t reason = full.find(": ");
    what_ = "is not JSON at byte " + std::to_string(position) + ": " +
            std::string(full.substr(reason == std::string_view::npos ? 0 : reason + 2, kReasonMax));
    return false;
  }

  // Returns the result of a parse, successful or not.
  absl::StatusOr<std::string> Take(bool parsed) && {
    if (parsed && what_.empty() && text_) return *std::move(text_);
    if (what_.empty()) {
      what_ = "has no field \"" + field_ + "\"; --text-field names the one that has the text";
    }
    return DataError(std::move(what_));
  }

 private:
  // Handles a value that is no text. Returns false, which stops the parser, if the value is the
  // complete line.
  bool Other(const char* kind) {
    if (depth_ == 0) what_ = std::string("is ") + kind + " and no object";
    if (depth_ > 0 && wanted_) {
      what_ = "has in field \"" + field_ + "\" " + kind + " and no text";
      text_.reset();
    }
    wanted_ = false;
    return depth_ > 0;
  }

  const std::string& field_;
  int depth_ = 0;
  bool wanted_ = false;  // the next value is the field's
  std::optional<std::string> text_;
  std::string what_;  // the error
};

}  // namespace

bool IsJsonLines(std::string_view path) {
  return path.ends_with(".jsonl") || path.ends_with(".json-lines");
}

absl::StatusOr<std::string> TextOfJsonLine(std::string_view line, const std::string& field) {
  TextFinder finder(field);
  // Our events do not throw and return false to stop, so this does not throw either.
  const bool parsed = json::sax_parse(line.begin(), line.end(), &finder);
  return std::move(finder).Take(parsed);
}

}  // namespace dt::corpus
