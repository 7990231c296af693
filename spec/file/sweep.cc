// sweep.cc: reads lists and ranges of parameters.
#include "spec/file/sweep.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "spec/file/conditions.h"
#include "spec/file/normal.h"
#include "spec/file/other_parameter.h"
#include "spec/file/range.h"
#include "spec/normal_range.h"
#include "spec/program.h"
#include "spec/search.h"

namespace dt::spec {
namespace {

using Kind = YamlNode::Kind;

// Whether a range is kept, or cut into the values of a grid.
enum class Ranges { kKept, kCut, kUnknown };

class ParameterReader {
 public:
  // `constants`: a single value is allowed too, as a parameter with one value.
  ParameterReader(const Field& field, const YamlNode& node, Reading& reading, Ranges ranges,
                  bool constants, v1::Parameter& out)
      : field_(field),
        node_(node),
        reading_(reading),
        ranges_(ranges),
        constants_(constants),
        out_(out),
        path_(ChildPath("parameters", field.path)) {}

  void Read() {
    if (node_.kind == Kind::kSequence) return ReadValues(node_);
    if (node_.kind == Kind::kScalar && constants_) return ReadOne(node_, IndexedPath(path_, 0));
    if (node_.kind != Kind::kMap) {
      return reading_.RefuseKind(
          node_, path_, "a list of values",
          node_.kind == Kind::kScalar ? absl::StrCat("write [", node_.text, "]") : "");
    }
    FindWords();
    if (reading_.Refused(path_)) return;
    if (Has("values") || Has("value")) return ReadListed();
    if (Has("probabilities")) {
      return Refuse("probabilities", "conflict",
                    absl::StrCat("'", path_, "' has probabilities and no values"),
                    "probabilities are one for each of values");
    }
    if (Has("normal") || Has("log_normal")) return ReadDrawn();
    ReadRange();
  }

 private:
  bool Has(const char* word) const { return words_.contains(word); }
  const YamlEntry& Entry(const char* word) const { return *words_.at(word); }
  // Reports at a word of the range, or at the range for "".
  void Refuse(const char* word, std::string code, std::string message, std::string hint = "") {
    const SourcePosition mark = Has(word) ? Entry(word).value.mark : node_.mark;
    reading_.Refuse(mark, path_, {path_, std::move(code), std::move(message), std::move(hint)});
  }

  void FindWords() {
    static const std::vector<std::string> kKnown{"values", "value",      "min",   "max",
                                                 "scale",  "step",       "count", "probabilities",
                                                 "normal", "log_normal", "when"};
    for (const YamlEntry& entry : node_.entries) {
      const std::string child = ChildPath(path_, entry.key);
      reading_.Place(child, entry.value.mark);
      if (std::find(kKnown.begin(), kKnown.end(), entry.key) != kKnown.end()) {
        words_[entry.key] = &entry;
      } else if (entry.key == "type" || entry.key == "distribution") {
        reading_.Refuse(entry.mark, path_,
                        {child, "not_available", absl::StrCat("'", child, "' is not yet available"),
                         OtherParameterHint(entry.key, node_)});
      } else {
        std::string hint = OtherParameterHint(entry.key, node_);
        const std::string near =
            IsOtherParameterWord(entry.key) ? "" : spec::Suggest(entry.key, kKnown);
        if (!near.empty()) hint = absl::StrCat("did you mean '", near, "'?");
        if (hint.empty()) {
          hint =
              "it may hold values, value, min, max, scale, step, count, normal, log_normal and "
              "when";
        }
        reading_.Refuse(
            entry.mark, path_,
            {child, "unknown_key", absl::StrCat("unknown key '", child, "'"), std::move(hint)});
      }
    }
  }

  // Reads {values: [...]}, {values: [...], probabilities: [...]} or {value: x}.
  void ReadListed() {
    const size_t others = words_.size() - (Has("probabilities") ? 1 : 0) - (Has("when") ? 1 : 0);
    if (others != 1 || (Has("value") && Has("probabilities"))) {
      return Refuse("", "conflict", absl::StrCat("'", path_, "' mixes values with a range"),
                    "keep one of values, value, or min, max and what goes with them");
    }
    if (Has("value")) return ReadOne(Entry("value").value, IndexedPath(path_, 0));
    const YamlNode& values = Entry("values").value;
    if (values.kind != Kind::kSequence) {
      return reading_.RefuseKind(values, path_, "a list of values");
    }
    ReadValues(values);
    if (Has("probabilities")) ReadProbabilities(Entry("probabilities").value);
  }

  void ReadValues(const YamlNode& list) {
    for (size_t i = 0; i < list.items.size(); ++i) ReadOne(list.items[i], IndexedPath(path_, i));
  }

  void ReadOne(const YamlNode& node, const std::string& at) {
    // Validate counts only the values that could be read, and so do the places.
    reading_.Place(IndexedPath(path_, static_cast<size_t>(out_.values_size())), node.mark);
    if (auto value = reading_.ReadValue(field_, node, at)) {
      *out_.add_values() = *std::move(value);
    } else {
      reading_.LeaveOut(at, path_);
    }
  }

  void ReadProbabilities(const YamlNode& list) {
    const std::string path = ChildPath(path_, "probabilities");
    if (list.kind != Kind::kSequence) return reading_.RefuseKind(list, path, "a list of numbers");
    for (size_t i = 0; i < list.items.size(); ++i) {
      Field weight = WeightField(IndexedPath(path, i));
      reading_.Place(weight.path, list.items[i].mark);
      if (const auto value = reading_.ReadValue(weight, list.items[i], weight.path)) {
        out_.add_probabilities(value->number());
      } else {
        reading_.LeaveOut(weight.path, path);
      }
    }
  }

  // Reads {min, max, scale, step or count}.
  void ReadRange() {
    if (field_.type != FieldType::kNumber && field_.type != FieldType::kInteger) {
      return Refuse("", "wrong_type", absl::StrCat("'", field_.path, "' has no range"),
                    "list its values");
    }
    for (const char* word : {"min", "max"}) {
      if (!Has(word)) {
        Refuse("", "missing", absl::StrCat("'", path_, "' lacks ", word),
               "a range has min and max, and under a grid count or step");
      }
    }
    if (ranges_ == Ranges::kCut && !Has("count") && !Has("step")) {
      Refuse("", "missing", absl::StrCat("'", path_, "' lacks count or step"),
             "a grid needs values: say how many, or how far apart");
    }
    if (Has("count") && Has("step")) {
      Refuse("count", "conflict",
             absl::StrCat("'", path_, "' has step and count, two ways to say one thing"),
             "keep one");
    }
    if (reading_.Refused(path_)) return;
    v1::Range range;
    if (!ReadWords(range)) return;
    if (!TakeRange(range)) return;
    if (!Has("count") && ranges_ != Ranges::kCut) {
      if (ranges_ == Ranges::kUnknown) reading_.Silence(path_);
      return;
    }
    out_.clear_range();
    Has("count") ? CutInto(range, count_) : CutByStep(range);
  }

  // Reads {normal: {mean, std}, min, max, step} or {log_normal: {median, factor}, …}.
  void ReadDrawn() {
    const bool log = Has("log_normal");
    const char* name = log ? "log_normal" : "normal";
    if (field_.type != FieldType::kNumber && field_.type != FieldType::kInteger) {
      return Refuse(name, "wrong_type", absl::StrCat("'", field_.path, "' is no number"),
                    "list its values");
    }
    for (const char* other : {"normal", "scale", "count"}) {
      if (!Has(other) || std::string_view(other) == name) continue;
      return Refuse(other, "conflict", absl::StrCat("'", path_, "' has ", name, " and ", other),
                    "keep one");
    }
    if (ranges_ == Ranges::kCut) {
      return Refuse(name, "conflict",
                    absl::StrCat("'", path_, "' is drawn, and a grid draws nothing"),
                    "list its values, or write search: {method: random}");
    }
    const auto normal = ReadNormal(Entry(name).value, path_, log, reading_);
    if (!normal) return;
    v1::Range words;
    if (!ReadWords(words)) return;
    GivenBounds given{.min = std::nullopt, .max = std::nullopt, .step = words.step()};
    if (Has("min")) given.min = words.min();
    if (Has("max")) given.max = words.max();
    v1::Range range = NormalRange(field_, *normal, log, given);
    const bool bounded = field_.min != field_.max;
    if (bounded && !given.min && field_.min_exclusive && range.min() <= field_.min &&
        CheckNormal(field_, range).empty()) {
      return Refuse("", "missing",
                    absl::StrCat("'", path_, "' lacks min; ", field_.path, " must be ",
                                 spec::RangeText(field_)),
                    "add min, or write log_normal, whose draws are above 0");
    }
    if (TakeRange(range) && ranges_ == Ranges::kUnknown) reading_.Silence(path_);
  }

  // Takes a range without issues; returns whether it has none.
  bool TakeRange(const v1::Range& range) {
    const std::vector<spec::Issue> issues = spec::CheckRange(field_, range);
    for (const spec::Issue& issue : issues) {
      reading_.Refuse(reading_.At(issue).mark, path_, issue);
    }
    if (!issues.empty()) return false;
    *out_.mutable_range() = range;
    return true;
  }

  bool ReadWords(v1::Range& range) {
    Field bound = field_;
    const auto number = [&](const char* word) {
      bound.path = ChildPath(path_, word);
      return Number(bound, word);
    };
    if (Has("min")) range.set_min(number("min"));
    if (Has("max")) range.set_max(number("max"));
    if (Has("step")) {
      bound = StepField(field_, ChildPath(path_, "step"));
      range.set_step(Number(bound, "step"));
    }
    if (Has("scale")) {
      const auto scale = Word(ScaleField(ChildPath(path_, "scale")), "scale");
      if (scale) range.set_scale(scale->text());
    }
    if (Has("count")) {
      const auto count = Word(CountField(ChildPath(path_, "count")), "count");
      if (count) count_ = count->integer();
    }
    return !reading_.Refused(path_);
  }

  std::optional<v1::Value> Word(const Field& field, const char* word) {
    auto value = reading_.ReadValue(field, Entry(word).value, field.path);
    if (!value) reading_.Silence(path_);
    return value;
  }
  double Number(const Field& field, const char* word) {
    const auto value = Word(field, word);
    if (!value) return 0;
    return value->has_integer() ? static_cast<double>(value->integer()) : value->number();
  }

  void CutInto(const v1::Range& range, int64_t count) {
    const Scaling scaling = range.scale() == "log" ? Scaling::kLog : Scaling::kLinear;
    const Range cut{field_.type, range.min(), range.max(), count, scaling};
    if (const int64_t most = MostValues(cut); most < count) {
      return Refuse(
          "count", "conflict",
          absl::StrCat("'", path_, "' has count ", count,
                       ", and some of its values are the same integer"),
          most < 2 ? "list its values" : absl::StrCat("with a count of ", most, " all differ"));
    }
    Take(RangeValues(cut));
  }

  void CutByStep(const v1::Range& range) {
    const spec::Dimension dimension = spec::DimensionOf(field_, range);
    const uint64_t places = spec::PlacesOf(dimension);
    if (places > limits::kTrialsPerExperiment) {
      return Refuse("step", "too_many_trials",
                    absl::StrCat("'", path_, "' has ", places, " values; at most ",
                                 limits::kTrialsPerExperiment, " trials are allowed"),
                    "give a larger step");
    }
    std::vector<v1::Value> values;
    for (uint64_t place = 0; place < places; ++place) {
      values.push_back(
          spec::AssignmentsOf({{dimension}}, {spec::ValueAt(dimension, place)})[0].value());
    }
    Take(values);
  }

  void Take(const std::vector<v1::Value>& values) {
    for (const v1::Value& value : values) {
      reading_.Place(IndexedPath(path_, static_cast<size_t>(out_.values_size())), node_.mark);
      *out_.add_values() = value;
    }
  }

  const Field& field_;
  const YamlNode& node_;
  Reading& reading_;
  const Ranges ranges_;
  const bool constants_;
  v1::Parameter& out_;
  const std::string path_;
  std::map<std::string, const YamlEntry*> words_;
  int64_t count_ = 0;
};

// Returns the type of normal draws: integers if the steps and the bounds are.
FieldType DrawnType(const YamlNode& node) {
  FieldType type = FieldType::kNumber;
  for (const YamlEntry& entry : node.entries) {
    const bool bound = entry.key == "min" || entry.key == "max";
    const bool step = entry.key == "step";
    if (!bound && !step) continue;
    const bool integer =
        spec::TypeOfText(entry.value.text, entry.value.quoting) == FieldType::kInteger;
    if (!integer) return FieldType::kNumber;
    if (step) type = FieldType::kInteger;
  }
  return type;
}

// Returns the common type of the values of a program's own parameter; nullopt: it is refused.
std::optional<FieldType> OwnType(const YamlNode& node, const std::string& path, Reading& reading) {
  const bool drawn = std::any_of(node.entries.begin(), node.entries.end(), [](const auto& entry) {
    return entry.key == "normal" || entry.key == "log_normal";
  });
  if (drawn) return DrawnType(node);
  std::vector<const YamlNode*> values;
  const auto add = [&values](const YamlNode& list) {
    for (const YamlNode& item : list.items) values.push_back(&item);
  };
  if (node.kind == Kind::kScalar) values.push_back(&node);
  add(node);
  for (const YamlEntry& entry : node.entries) {
    const bool bound = entry.key == "min" || entry.key == "max" || entry.key == "step";
    if (entry.key == "values") add(entry.value);
    if (entry.key == "value" || bound) values.push_back(&entry.value);
  }
  std::vector<FieldType> types;
  for (const YamlNode* value : values) {
    const bool list = value->kind == Kind::kSequence;
    types.push_back(list ? FieldType::kNumbers : spec::TypeOfText(value->text, value->quoting));
  }
  const std::optional<FieldType> common = spec::CommonType(types);
  if (common || types.empty()) return common.value_or(FieldType::kText);
  reading.Refuse(node.mark, path,
                 {path, "wrong_type",
                  absl::StrCat("'", path,
                               "' mixes values of several types, such as texts and "
                               "numbers"),
                  "write all of them in quotes, as texts"});
  return std::nullopt;
}

// Reads a parameter of any name. A single value is a constant.
void ReadOwn(const YamlEntry& entry, Reading& reading, Ranges ranges, v1::Parameter& parameter) {
  const std::optional<FieldType> type =
      OwnType(entry.value, ChildPath("parameters", entry.key), reading);
  if (!type) return;
  const Field field = spec::FieldNamed(entry.key, *type);
  ParameterReader(field, entry.value, reading, ranges, true, parameter).Read();
  // Integers have steps: that tells such a range from a continuous one with the same ends.
  v1::Range* range = parameter.has_range() ? parameter.mutable_range() : nullptr;
  if (range != nullptr && *type == FieldType::kInteger && range->step() == 0) range->set_step(1);
}

}  // namespace

void ReadParameters(const YamlNode& node, Reading& reading, v1::ExperimentSpec& out) {
  if (node.kind != Kind::kMap) {
    reading.RefuseKind(node, "parameters", "a map of fields to lists of values",
                       "for example: parameters: {optimizer.lr: [1.0e-3, 1.0e-4]}");
    return;
  }
  Ranges ranges = spec::SamplerOf(out) == spec::Sampler::kGrid ? Ranges::kCut : Ranges::kKept;
  if (reading.Refused("search.method") || reading.Refused("search.sampler")) {
    ranges = Ranges::kUnknown;
  }
  // Checked first, since a few bytes, {min: 1, max: 2, count: 10000}, give ten thousand values.
  if (node.entries.size() > static_cast<size_t>(limits::kParameters)) {
    reading.Refuse(node.mark, "parameters",
                   {"parameters", "too_many",
                    absl::StrCat("parameters has ", node.entries.size(), " entries; at most ",
                                 limits::kParameters, " are allowed"),
                    ""});
    return;
  }
  const bool program = spec::IsProgram(out);
  size_t values = 0;
  for (const YamlEntry& entry : node.entries) {
    if (out.parameters_size() > 0) {
      values += static_cast<size_t>(out.parameters(out.parameters_size() - 1).values_size());
    }
    if (values > limits::kCombinations) {
      reading.Refuse(entry.mark, "parameters",
                     {"parameters", "too_many_values",
                      absl::StrCat("parameters has more than ", limits::kCombinations,
                                   " values in all its lists"),
                      "give ranges, or fewer values"});
      return;
    }
    const std::string path = ChildPath("parameters", entry.key);
    reading.Place(path, entry.mark);
    const Field* field = spec::FindField(entry.key);
    v1::Parameter& parameter = *out.add_parameters();
    parameter.set_path(entry.key);
    if (program && (field == nullptr || !spec::Concerns(out, *field))) {
      ReadOwn(entry, reading, ranges, parameter);
      continue;
    }
    // Validate reports unknown fields and those that cannot be swept.
    if (field != nullptr && field->sweepable) {
      ParameterReader(*field, entry.value, reading, ranges, program, parameter).Read();
    } else if (field == nullptr && entry.value.kind == Kind::kMap &&
               spec::FindField(absl::StrCat(
                   entry.key, ".",
                   entry.value.entries.empty() ? "" : entry.value.entries[0].key)) != nullptr) {
      const std::string dotted = ChildPath(entry.key, entry.value.entries[0].key);
      reading.Refuse(entry.mark, path,
                     {path, "wrong_type", "parameters are written with dots",
                      absl::StrCat("write ", dotted, ": […]")});
    }
  }
  ReadConditions(node, reading, out);
}

}  // namespace dt::spec
