#include "spec/file/normal.h"

#include <cmath>
#include <map>
#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "spec/file/diagnostics.h"
#include "spec/normal_range.h"
#include "spec/space.h"

namespace dt::spec {
namespace {

using Kind = YamlNode::Kind;

enum class Means { kNothing, kCentre, kSpread };

// Returns the meaning of a word, ours or another tool's.
Means MeaningOf(std::string_view word) {
  for (const char* centre : {"mean", "median", "mu", "loc", "centre", "center"}) {
    if (word == centre) return Means::kCentre;
  }
  for (const char* spread :
       {"std", "factor", "sigma", "sd", "stddev", "scale", "deviation", "variance"}) {
    if (word == spread) return Means::kSpread;
  }
  return Means::kNothing;
}

// Returns our word with the value that theirs has.
std::string HintFor(const YamlEntry& entry, bool log) {
  const NormalWords& words = WordsOfNormal(log);
  const Means means = MeaningOf(entry.key);
  double number = 0;
  const bool known = entry.value.kind == Kind::kScalar &&
                     absl::SimpleAtod(entry.value.text, &number) && std::abs(number) < 100;
  if (means == Means::kNothing || entry.key == "variance") {
    return absl::StrCat("write ", words.name, ": {", words.centre, ": …, ", words.spread, ": …}");
  }
  const char* word = means == Means::kCentre ? words.centre : words.spread;
  if (!log) return absl::StrCat("did you mean '", word, "'?");
  if (!known) return absl::StrCat("write ", word, ", a value and not a logarithm");
  return absl::StrCat("if that is of the natural logarithm, write ", word, ": ",
                      NumberText(Rounded(std::exp(number), 4)));
}

}  // namespace

std::optional<v1::Normal> ReadNormal(const YamlNode& node, const std::string& path, bool log,
                                     Reading& reading) {
  const NormalWords& words = WordsOfNormal(log);
  const std::string where = ChildPath(path, words.name);
  const std::string example =
      absl::StrCat("write ", words.name, ": {", words.centre, log ? ": 1.0e-3, " : ": 0.5, ",
                   words.spread, log ? ": 3}" : ": 0.1}");
  if (node.kind != Kind::kMap) {
    reading.RefuseKind(node, where, absl::StrCat("a map of ", words.centre, " and ", words.spread),
                       example);
    reading.Silence(path);
    return std::nullopt;
  }
  std::map<std::string, double> numbers;
  bool good = true;
  for (const YamlEntry& entry : node.entries) {
    Field field;
    field.path = ChildPath(where, entry.key);
    field.type = FieldType::kNumber;
    reading.Place(field.path, entry.value.mark);
    if (entry.key != words.centre && entry.key != words.spread) {
      reading.Refuse(entry.mark, path,
                     {field.path, "unknown_key", absl::StrCat("unknown key '", field.path, "'"),
                      HintFor(entry, log)});
      good = false;
    } else if (const auto value = reading.ReadValue(field, entry.value, field.path)) {
      numbers[entry.key] = value->number();
    } else {
      reading.Silence(path);
      good = false;
    }
  }
  for (const char* word : {words.centre, words.spread}) {
    if (!good || numbers.contains(word)) continue;
    reading.Refuse(node.mark, path,
                   {where, "missing", absl::StrCat("'", where, "' lacks ", word), example});
    good = false;
  }
  if (!good) return std::nullopt;
  v1::Normal normal;
  normal.set_centre(numbers[words.centre]);
  normal.set_spread(numbers[words.spread]);
  return normal;
}

}  // namespace dt::spec
