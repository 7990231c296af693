// near_miss.cc: malformed JSON, JSON within text, Python's dicts, and lines such as "step 30: train
// loss 4.47, val loss 4.48".
#include "worker/program/near_miss.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "spec/pattern/line_pattern.h"
#include "worker/program/report.h"

namespace dt::program {
namespace {

constexpr size_t kShownLineBytes = 120;
constexpr size_t kNumbersShown = 3;
// The most numbers of a line that are looked at.
constexpr size_t kNumbersMost = 16;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

NearMiss Near(std::string_view line, std::string why, bool close) {
  const bool cut = line.size() > kShownLineBytes;
  return {absl::StrCat(Printable(CleanText(line, kShownLineBytes)), cut ? "…" : ""), std::move(why),
          close};
}

// Returns whether a number's digits are in it, as a value or within a text: likely a report of
// training.
bool HoldsNumber(std::string_view object) {
  for (size_t i = 1; i < object.size(); ++i) {
    if (!IsDigit(object[i])) continue;
    const char before = object[i - 1];
    if (before == ':' || before == ' ' || before == '"' || before == '\'' || before == '-' ||
        before == '(' || before == '[') {
      return true;
    }
  }
  return false;
}

bool IsReport(std::string_view text, std::string_view metric) {
  auto read = ReadReport(text, metric);
  const auto* report = std::get_if<Report>(&read);
  return report != nullptr && !report->numbers.empty();
}

// Returns why the text, which is JSON of a kind, is not a report.
std::string WhyNot(std::string_view object, std::string_view metric) {
  auto read = ReadReport(object, metric);
  if (const auto* wrong = std::get_if<WrongLine>(&read)) return wrong->why;
  const Report& report = std::get<Report>(read);
  if (report.flaws.empty()) return "it has no number beside its step";
  return absl::StrCat("'", report.flaws.front().name, "' is left out: ", report.flaws.front().why);
}

// Turns {'loss': 0.5, 'done': True, 'note': None} into JSON; other syntax of Python stays.
std::string FromPython(std::string_view text) {
  std::string json;
  for (size_t i = 0; i < text.size();) {
    bool replaced = false;
    for (const auto& [word, with] : {std::pair<std::string_view, std::string_view>{"None", "null"},
                                     {"True", "true"},
                                     {"False", "false"},
                                     {"'", "\""}}) {
      if (!text.substr(i).starts_with(word)) continue;
      json += with;
      i += word.size();
      replaced = true;
      break;
    }
    if (!replaced) json += text[i++];
  }
  return json;
}

std::optional<NearMiss> NearObject(std::string_view line, std::string_view metric) {
  const size_t first = line.find('{');
  const size_t last = line.rfind('}');
  if (first == std::string_view::npos || last == std::string_view::npos || last < first) {
    return std::nullopt;
  }
  const std::string_view object = line.substr(first, last - first + 1);
  if (!HoldsNumber(object)) return std::nullopt;
  const bool alone = object.size() == line.size();
  const bool is_json = !WhyNot(object, metric).starts_with("it is not a JSON object");
  if (is_json) {
    if (alone) {
      const std::string why = WhyNot(object, metric);
      return Near(line, why, object.find("step") != std::string_view::npos);
    }
    const bool good = IsReport(object, metric);
    return Near(
        line,
        good ? "there is text beside its JSON object; print the object on a line of its own"
             : absl::StrCat("there is text beside its JSON object, and ", WhyNot(object, metric)),
        good);
  }
  if (object.find("': ") == std::string_view::npos && object.find("':") == std::string_view::npos) {
    return std::nullopt;
  }
  std::string why =
      "it is a dict as Python prints it, not JSON; write print(json.dumps({…}), flush=True)";
  const std::string converted = FromPython(object);
  const bool good = IsReport(converted, metric);
  if (!good && !WhyNot(converted, metric).starts_with("it is not a JSON object")) {
    absl::StrAppend(&why, ", and ", WhyNot(converted, metric));
  }
  if (!alone) absl::StrAppend(&why, ", on a line of its own");
  const bool counted = object.find("'step'") != std::string_view::npos ||
                       object.find("'epoch'") != std::string_view::npos;
  return Near(line, std::move(why), good || counted);
}

// --- Lines of words and numbers ---

struct Named {
  std::string name;   // "train_loss"
  std::string value;  // "4.4711"
  size_t begin = 0;   // of the value in the line
};

// Returns whether a name is that of a step in text, where a report's words have more forms.
bool IsNearStepWord(const std::string& name) {
  return spec::IsStepWord(name) || name == "steps" || name == "it" || name == "iters";
}

// Returns whether a name is that of a training metric. A line with any other number may be from any
// log.
bool IsMetricWord(const std::string& name, std::string_view metric) {
  if (!metric.empty() && name == Lower(metric)) return true;
  constexpr std::array<std::string_view, 14> kParts = {
      "loss", "acc",    "error", "perplexity", "ppl",  "f1",  "auc",
      "mse",  "reward", "score", "bleu",       "rmse", "mae", "recall"};
  return std::any_of(kParts.begin(), kParts.end(), [&name](std::string_view part) {
    const size_t at = name.find(part);
    if (at == std::string::npos) return false;
    return at == 0 || !IsLetter(name[at - 1]) || name[at - 1] == '_';
  });
}

// Returns whether a word joins a name to its number: "accuracy of 0.5", "loss is 2".
bool IsJoiningWord(std::string_view word) {
  constexpr std::array<std::string_view, 8> kWords = {"of",  "is", "was",   "at",
                                                      "now", "to", "about", "equals"};
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

// Returns the words right before a number, joined by _: likely its name.
std::string NameBefore(std::string_view before) {
  constexpr size_t kWordsMost = 3;
  std::vector<std::string> words;
  size_t end = before.find_last_not_of(" :=(<>~");
  if (end == std::string_view::npos) return "";
  ++end;
  while (words.size() < kWordsMost && end > 0) {
    size_t begin = end;
    while (begin > 0 && (IsLetter(before[begin - 1]) || IsDigit(before[begin - 1]) ||
                         before[begin - 1] == '/' || before[begin - 1] == '@')) {
      --begin;
    }
    if (begin == end || !std::any_of(before.begin() + static_cast<std::ptrdiff_t>(begin),
                                     before.begin() + static_cast<std::ptrdiff_t>(end), IsLetter)) {
      break;
    }
    std::string word = Lower(before.substr(begin, end - begin));
    if (word == "the" || word == "a" || word == "an") break;  // a name begins after it
    if (!words.empty() || !IsJoiningWord(word)) words.insert(words.begin(), std::move(word));
    if (begin == 0 || before[begin - 1] != ' ') break;
    end = begin - 1;
  }
  std::string name;
  for (const std::string& word : words) absl::StrAppend(&name, name.empty() ? "" : "_", word);
  return name;
}

// Returns the end of a number at `at` that is a word of its own; 0: there is none.
size_t NumberEnd(std::string_view line, size_t at) {
  if (at > 0 && (IsLetter(line[at - 1]) || IsDigit(line[at - 1]) || line[at - 1] == '.')) return 0;
  const std::string rest(line.substr(at, 32));
  if (!IsDigit(rest[0]) && rest[0] != '-' && Lower(rest.substr(0, 3)) != "nan" &&
      Lower(rest.substr(0, 3)) != "inf") {
    return 0;
  }
  if (rest.starts_with("0x")) return 0;
  char* end = nullptr;
  std::strtod(rest.c_str(), &end);
  const auto length = static_cast<size_t>(end - rest.c_str());
  if (length == 0) return 0;
  const char next = at + length < line.size() ? line[at + length] : ' ';
  return IsLetter(next) && next != 's' && next != 'm' ? 0 : at + length;
}

std::vector<Named> NumbersIn(std::string_view line) {
  std::vector<Named> found;
  size_t after = 0;  // end of the last number
  for (size_t at = 0; at < line.size() && found.size() < kNumbersMost;) {
    const size_t end = NumberEnd(line, at);
    if (end == 0) {
      ++at;
      continue;
    }
    std::string_view before = line.substr(after, at - after);
    // Words of one clause do not name a number of the next.
    if (const size_t cut = before.find_last_of(",;|["); cut != std::string_view::npos) {
      before.remove_prefix(cut + 1);
    }
    const std::string name = NameBefore(before);
    if (!name.empty()) {
      found.push_back({name, std::string(line.substr(at, end - at)), at});
    }
    after = at = end;
  }
  return found;
}

// Returns a text between two numbers as a pattern has it: one space for several, {} for numbers
// that differ from line to line.
std::string BetweenNumbers(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  const size_t first = text.find_first_of(kDigits);
  std::string between(text);
  if (first != std::string_view::npos) {
    const size_t last = text.find_last_of(kDigits);
    between =
        absl::StrCat(std::string(text.substr(0, first)), "{}", std::string(text.substr(last + 1)));
  }
  std::string spaced;
  for (const char c : between) {
    const bool space = c == ' ' || c == '\t';
    if (!space || !spaced.ends_with(' ')) spaced += space ? ' ' : c;
  }
  return spaced;
}

// Returns "step {step}: train loss {train_loss}", a pattern that matches the line; "": there is
// none.
std::string PatternOf(std::string_view line, const std::vector<Named>& numbers) {
  if (numbers.empty() || line.find_first_of("{}") != std::string_view::npos) return "";
  // The text before the first number's words may differ: a time, a level.
  const std::string_view before = line.substr(0, numbers.front().begin);
  size_t at = before.find_last_of("0123456789]|;");
  at = at == std::string_view::npos ? 0 : at + 1;
  std::string pattern;
  std::vector<std::string> names;
  for (const Named& one : numbers) {
    const bool twice = std::find(names.begin(), names.end(), one.name) != names.end();
    absl::StrAppend(&pattern, BetweenNumbers(line.substr(at, one.begin - at)), "{",
                    twice ? "" : one.name, "}");
    if (!twice) names.push_back(one.name);
    at = one.begin + one.value.size();
  }
  pattern.erase(0, pattern.find_first_not_of(' '));
  // A person could not copy it as it is shown.
  if (Printable(pattern) != pattern) return "";
  const auto made = spec::LinePattern::Make(pattern);
  return made.ok() && made->Find(line).size() == names.size() ? pattern : "";
}

bool IsWhole(const std::string& number) {
  return std::all_of(number.begin(), number.end(), IsDigit);
}

std::optional<NearMiss> NearText(std::string_view line, std::string_view metric) {
  std::vector<Named> numbers = NumbersIn(line);
  // If the words before it belong to a sentence, the last word is the name: "loss".
  for (Named& one : numbers) {
    const size_t last = one.name.rfind('_');
    if (last == std::string::npos) continue;
    const std::string word = one.name.substr(last + 1);
    if (IsNearStepWord(word)) one.name = word;
  }
  const auto step = std::find_if(numbers.begin(), numbers.end(), [](const Named& one) {
    return IsNearStepWord(one.name) && IsWhole(one.value);
  });
  std::vector<const Named*> told;
  for (const Named& one : numbers) {
    if (!IsNearStepWord(one.name) && IsMetricWord(one.name, metric)) told.push_back(&one);
  }
  if (told.empty()) return std::nullopt;
  const bool has_step = step != numbers.end();
  std::string instead = absl::StrCat("{\"step\": ", has_step ? step->value : "1");
  for (size_t i = 0; i < told.size() && i < kNumbersShown; ++i) {
    const double number = std::strtod(told[i]->value.c_str(), nullptr);
    absl::StrAppend(&instead, ", \"", told[i]->name,
                    "\": ", std::isfinite(number) ? told[i]->value : "NaN");
  }
  instead += "}";
  const std::string pattern = PatternOf(line, numbers);
  std::string why = absl::StrCat("it is text, not JSON", has_step ? "" : ", and names no step");
  if (pattern.empty()) {
    absl::StrAppend(&why, "; print ", instead, " in its place");
  } else {
    absl::StrAppend(&why, "; add metrics: {pattern: ", QuotedYaml(pattern),
                    "} to the file, or print ", instead, " in its place");
  }
  return Near(line, std::move(why), has_step);
}

}  // namespace

std::optional<NearMiss> FindNearMiss(std::string_view line, std::string_view metric) {
  if (line.empty() || line.size() > kNearMissBytes) return std::nullopt;
  if (std::optional<NearMiss> near = NearObject(line, metric)) return near;
  return NearText(line, metric);
}

std::optional<NearMiss> FindNearMissOnError(std::string_view line, std::string_view metric) {
  if (line.size() <= kNearMissBytes && IsReport(line, metric)) {
    return Near(line, "it was printed to standard error; print it to standard output", true);
  }
  return FindNearMiss(line, metric);
}

}  // namespace dt::program
