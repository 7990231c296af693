// last_words.cc: recognises how programs report a failure.
#include "worker/agent/last_words.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "worker/agent/known_errors.h"

namespace dt {
namespace {

// A last line of output is a hint in a message, not a log.
constexpr size_t kLastLineBytes = 512;

// A program cleans up after an error; one that prints more than this has gone on.
constexpr int kLinesAfterError = 20;

// Beginnings, in lower case, of lines by which programs, shells and runtimes report a failure.
constexpr std::array<std::string_view, 10> kBeginnings{
    "error:",    "error[",          "fatal:", "fatal error",
    "panic:",    "aborted",         "killed", "segmentation fault",
    "bus error", "terminate called"};
// The same anywhere in a line: compilers, loggers, shells.
constexpr std::array<std::string_view, 5> kWithin{": error:", ": fatal error:", "[error]",
                                                  ": command not found", " panicked at "};
// Ends of the names of exceptions.
constexpr std::array<std::string_view, 6> kEndings{"Error",   "Exception", "Interrupt",
                                                   "Failure", "Exit",      "Fault"};

bool IsNameLetter(char c) {
  return c == '_' || c == '.' || absl::ascii_isalnum(static_cast<unsigned char>(c));
}

// Accepts "torch.cuda.OutOfMemoryError: …", or only the name.
bool IsException(std::string_view line) {
  const size_t end =
      static_cast<size_t>(std::find_if_not(line.begin(), line.end(), IsNameLetter) - line.begin());
  if (end < line.size() && line[end] != ':') return false;
  const std::string_view name = line.substr(0, end);
  return std::any_of(kEndings.begin(), kEndings.end(), [name](std::string_view ending) {
    return name.size() >= ending.size() && name.ends_with(ending);
  });
}

// Accepts "MeanSquaredError: 0.05", which is a metric.
bool IsMeasure(std::string_view line) {
  const size_t colon = line.find(':');
  double number = 0;
  return colon != std::string_view::npos &&
         absl::SimpleAtod(std::string(line.substr(colon + 1)), &number);
}

// Accepts "train.py:196: FutureWarning: …", which Python prints with the line of code below it.
bool IsWarning(std::string_view line) {
  const size_t file = line.find(".py:");
  return file != std::string_view::npos && line.find("Warning: ", file) != std::string_view::npos;
}

// Drops "[rank0]: ", which torch puts before each line of a traceback.
std::string_view WithoutRank(std::string_view line) {
  if (!line.starts_with("[rank")) return line;
  const size_t end = line.find("]: ");
  return end == std::string_view::npos ? line : line.substr(end + 3);
}

}  // namespace

bool SaysError(std::string_view line) {
  line = WithoutRank(line.substr(0, kLastLineBytes));
  if (IsMeasure(line)) return false;
  if (IsException(line)) return true;
  const std::string lower = absl::AsciiStrToLower(std::string(line));
  const auto begins = [&lower](std::string_view text) { return lower.starts_with(text); };
  const auto has = [&lower](std::string_view text) {
    return lower.find(text) != std::string::npos;
  };
  return std::any_of(kBeginnings.begin(), kBeginnings.end(), begins) ||
         std::any_of(kWithin.begin(), kWithin.end(), has);
}

void LastWords::Take(LogPipe pipe, std::string_view line) {
  const bool blank = std::all_of(line.begin(), line.end(), [](char c) {
    return absl::ascii_isspace(static_cast<unsigned char>(c));
  });
  if (blank) return;
  OfPipe& of = pipe == LogPipe::kErrors ? errors_ : output_;
  // A warning says nothing about an end.
  const bool below_warning = std::exchange(of.warned, IsWarning(line));
  if (of.warned || (below_warning && line.starts_with(' '))) return;
  of.line = CleanText(line, kLastLineBytes);
  if (of.since_error <= kLinesAfterError) ++of.since_error;
  if (SaysError(line)) {
    of.error = of.line;
    of.since_error = 0;
  }
}

const std::string& LastWords::Evidence() const {
  const OfPipe& of = Newest();
  return of.error.empty() || of.since_error > kLinesAfterError ? of.line : of.error;
}

std::string LastWords::Text() const {
  const OfPipe& of = Newest();
  if (of.line.empty()) return {};
  std::string text;
  if (!of.error.empty() && of.error != of.line) {
    absl::StrAppend(&text, "its last error: ", of.error, "; ");
  }
  absl::StrAppend(&text, "its last line: ", of.line);
  const std::string fix(FixFor(Evidence()));
  if (!fix.empty()) absl::StrAppend(&text, "; ", fix);
  return text;
}

}  // namespace dt
