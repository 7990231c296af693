// yaml.cc: prints experiments and trials as the YAML that a person would write.
//
// Invariant: reading ToYaml(spec) gives the same trials. So it omits
// defaults that depend on other fields (they would become fixed), and the half of a pair that the
// file did not use.
#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/text.h"
#include "spec/internal.h"
#include "spec/normal_range.h"
#include "spec/objectives.h"
#include "spec/program.h"
#include "spec/spec.h"

namespace dt::spec {
namespace {

std::string Text(const std::string& text) { return IsPlainYaml(text) ? text : QuotedYaml(text); }

// Adds a point if only its look makes the text a number: "1.0".
std::string Pointed(double number) {
  std::string text = NumberText(number);
  if (text.find('.') == std::string::npos) text += ".0";
  return text;
}

std::string Written(const Field& field, const v1::Value& value) {
  const bool own = field.use == Use::kProgram && FindField(field.path) == nullptr;
  if (own && field.type == FieldType::kNumber) {
    return Pointed(value.has_integer() ? static_cast<double>(value.integer()) : value.number());
  }
  const bool text = field.type == FieldType::kText || field.type == FieldType::kChoice;
  return text ? Text(value.text()) : ValueText(value);
}

template <typename Labels>
std::string Map(const Labels& labels) {
  std::vector<std::string> parts;
  for (const v1::Label& label : labels) {
    parts.push_back(absl::StrCat(Text(label.key()), ": ", Text(label.value())));
  }
  return absl::StrCat("{", absl::StrJoin(parts, ", "), "}");
}

// Writes "section:", and "asha:" below it, before the first field of a section.
class Writer {
 public:
  void Line(const std::string& path, const std::string& value) {
    const std::vector<std::string> keys = absl::StrSplit(path, '.');
    size_t shared = 0;
    while (shared < open_.size() && shared + 1 < keys.size() && open_[shared] == keys[shared]) {
      ++shared;
    }
    open_.assign(keys.begin(), keys.end() - 1);
    for (size_t depth = shared; depth < keys.size(); ++depth) {
      absl::StrAppend(&out_, std::string(2 * depth, ' '), keys[depth], ":",
                      depth + 1 < keys.size() ? "" : absl::StrCat(" ", value), "\n");
    }
  }
  void Raw(const std::string& text) {
    open_.clear();
    out_ += text;
  }
  std::string Take() { return std::move(out_); }

 private:
  std::string out_;
  std::vector<std::string> open_;  // sections that the next line may continue
};

std::string Numbers(const google::protobuf::RepeatedField<double>& numbers) {
  std::vector<std::string> texts;
  for (const double number : numbers) texts.push_back(NumberText(number));
  return absl::StrCat("[", absl::StrJoin(texts, ", "), "]");
}

std::string RangeYaml(const v1::Parameter& parameter, const Field* field) {
  const v1::Range& range = parameter.range();
  const bool integer = field != nullptr && field->type == FieldType::kInteger;
  const bool own = field != nullptr && FindField(parameter.path()) != field;
  const auto text = [integer, own](double number) {
    if (integer) return absl::StrCat(static_cast<int64_t>(number));
    return own ? Pointed(number) : NumberText(number);
  };
  std::string out;
  if (range.has_normal() && field != nullptr) {
    const NormalWords& words = WordsOfNormal(range.scale() == "log");
    const GivenBounds given = GivenIn(*field, range);
    out = absl::StrCat(words.name, ": {", words.centre, ": ", NumberText(range.normal().centre()),
                       ", ", words.spread, ": ", NumberText(range.normal().spread()), "}");
    if (given.min) absl::StrAppend(&out, ", min: ", text(*given.min));
    if (given.max) absl::StrAppend(&out, ", max: ", text(*given.max));
  } else {
    out = absl::StrCat("min: ", text(range.min()), ", max: ", text(range.max()));
    if (!range.scale().empty()) absl::StrAppend(&out, ", scale: ", range.scale());
  }
  if (range.step() > 0) absl::StrAppend(&out, ", step: ", text(range.step()));
  return out;
}

// Returns ", when: {model: [large]}".
std::string WhenYaml(const v1::Parameter& parameter, const ParameterFields& fields) {
  std::vector<std::string> parts;
  for (const v1::Condition& condition : parameter.when()) {
    const Field* field = fields.Find(condition.path());
    std::vector<std::string> values;
    for (const v1::Value& value : condition.values()) {
      values.push_back(field == nullptr ? Text(ValueText(value)) : Written(*field, value));
    }
    parts.push_back(absl::StrCat(condition.path(), ": [", absl::StrJoin(values, ", "), "]"));
  }
  return parts.empty() ? "" : absl::StrCat(", when: {", absl::StrJoin(parts, ", "), "}");
}

// Returns the text after "optimizer.lr: ".
std::string Varied(const v1::Parameter& parameter, const ParameterFields& fields) {
  const Field* field = fields.Find(parameter.path());
  const std::string when = WhenYaml(parameter, fields);
  if (parameter.has_range()) return absl::StrCat("{", RangeYaml(parameter, field), when, "}");
  std::vector<std::string> values;
  for (const v1::Value& value : parameter.values()) {
    values.push_back(field == nullptr ? Text(ValueText(value)) : Written(*field, value));
  }
  std::string list = absl::StrCat("[", absl::StrJoin(values, ", "), "]");
  if (parameter.probabilities().empty() && when.empty()) return list;
  absl::StrAppend(&list,
                  parameter.probabilities().empty()
                      ? ""
                      : absl::StrCat(", probabilities: ", Numbers(parameter.probabilities())),
                  when);
  return absl::StrCat("{values: ", list, "}");
}

template <typename Assignments>
std::string Combination(const Assignments& assignments, const ParameterFields& fields) {
  std::vector<std::string> parts;
  for (const v1::Assignment& one : assignments) {
    const Field* field = fields.Find(one.path());
    parts.push_back(absl::StrCat(
        one.path(), ": ",
        field == nullptr ? Text(ValueText(one.value())) : Written(*field, one.value())));
  }
  return absl::StrCat("  - {", absl::StrJoin(parts, ", "), "}\n");
}

std::string Parameters(const v1::ExperimentSpec& spec) {
  const ParameterFields fields(spec);
  std::string out;
  if (!spec.seeds().empty()) {
    absl::StrAppend(&out, "seeds: [", absl::StrJoin(spec.seeds(), ", "), "]\n");
  }
  if (spec.parameters_size() > 0) out += "parameters:\n";
  for (const v1::Parameter& parameter : spec.parameters()) {
    absl::StrAppend(&out, "  ", parameter.path(), ": ", Varied(parameter, fields), "\n");
  }
  if (spec.include_size() > 0) out += "include:\n";
  for (const v1::Inclusion& included : spec.include()) {
    out += Combination(included.values(), fields);
  }
  if (spec.exclude_size() > 0) out += "exclude:\n";
  for (const v1::Exclusion& exclusion : spec.exclude()) {
    out += Combination(exclusion.where(), fields);
  }
  return out;
}

// Returns whether an optional text is not given.
bool IsUnset(const Field& field, const v1::Value& value) {
  const bool optional = field.default_kind == DefaultKind::kNone || field.use == Use::kProgram;
  return optional && value.has_text() && value.text().empty();
}

// Returns whether a field of the base is printed; see the invariant at the top.
bool Printed(const v1::ExperimentSpec& spec, const Field& field, const std::set<std::string>& swept,
             const std::set<std::string>& set) {
  if (swept.contains(field.path)) return false;
  if (IsUnset(field, GetField(spec.base(), field.path))) return false;
  if (set.contains(field.path)) return true;
  if (field.default_kind == DefaultKind::kDependent) return false;
  if (field.path == "schedule.warmup_ratio") {
    return !swept.contains("schedule.warmup_steps") && spec.base().schedule().warmup_steps() < 0;
  }
  if (field.path == "schedule.warmup_steps") return spec.base().schedule().warmup_steps() >= 0;
  if (field.path == "eval.tokens") {
    return !swept.contains("eval.batches") && spec.base().eval().batches() == 0;
  }
  if (field.path == "train.global_batch_tokens") {
    return spec.base().train().global_batch_tokens() > 0;
  }
  if (field.path == "steps") return spec.base().steps() > 0;
  if (field.path == "train.max_steps") return spec.base().train().max_steps() > 0;
  if (field.path == "train.max_tokens") return spec.base().train().max_tokens() > 0;
  return true;
}

template <typename Texts>
std::string Words(const Texts& texts) {
  std::vector<std::string> words;
  for (const std::string& word : texts) words.push_back(Text(word));
  return absl::StrCat("[", absl::StrJoin(words, ", "), "]");
}

}  // namespace

std::string internal::TextsYaml(const v1::Spec& spec, std::string_view path) {
  return Words(GetTexts(spec, path));
}

std::string ToYaml(const v1::ExperimentSpec& spec) {
  std::set<std::string> swept;
  for (const v1::Parameter& parameter : spec.parameters()) {
    // Trials without a conditional parameter have the base's value.
    if (parameter.when().empty()) swept.insert(parameter.path());
  }
  if (!spec.seeds().empty()) swept.insert("seed");
  const std::set<std::string> set(spec.explicit_paths().begin(), spec.explicit_paths().end());
  Writer writer;
  for (const Field& field : ExperimentFieldTable()) {
    if (field.type == FieldType::kLabels) {
      if (!spec.labels().empty()) writer.Line(field.path, Map(spec.labels()));
      continue;
    }
    if (field.type == FieldType::kTexts) {
      const auto& words = GetExperimentTexts(spec, field.path);
      if (!words.empty()) writer.Line(field.path, Words(words));
      continue;
    }
    // With several objectives these two follow from the lists.
    const bool first = field.path == "search.metric" || field.path == "search.goal";
    if (first && HasSeveralObjectives(spec.search())) continue;
    const v1::Value value = GetExperimentField(spec, field.path);
    const bool absent = value.kind_case() == v1::Value::KIND_NOT_SET;
    if (absent || (value.has_text() && value.text().empty())) continue;
    writer.Line(field.path, Written(field, value));
  }
  writer.Raw(Parameters(spec));
  for (const Field& field : FieldTable()) {
    if (!Concerns(spec, field)) continue;
    if (field.type == FieldType::kLabels) {
      const auto& labels = GetLabels(spec.base(), field.path);
      if (!labels.empty()) writer.Line(field.path, Map(labels));
    } else if (field.type == FieldType::kTexts) {
      const auto& texts = GetTexts(spec.base(), field.path);
      if (!texts.empty()) writer.Line(field.path, Words(texts));
    } else if (Printed(spec, field, swept, set)) {
      writer.Line(field.path, Written(field, GetField(spec.base(), field.path)));
    }
  }
  return writer.Take();
}

std::string ToYaml(const v1::Spec& spec) {
  Writer writer;
  for (const Field& field : FieldTable()) {
    if (!Concerns(spec, field)) continue;
    if (field.type == FieldType::kTexts) {
      const auto& texts = GetTexts(spec, field.path);
      if (!texts.empty()) writer.Line(field.path, Words(texts));
    } else if (field.type == FieldType::kLabels) {
      const auto& labels = GetLabels(spec, field.path);
      if (!labels.empty()) writer.Line(field.path, Map(labels));
    } else if (const v1::Value value = GetField(spec, field.path); !IsUnset(field, value)) {
      writer.Line(field.path, Written(field, value));
    }
  }
  if (!spec.values().empty()) writer.Raw("values:\n");
  for (const v1::Assignment& one : spec.values()) {
    const bool text = one.value().has_text();
    writer.Raw(absl::StrCat("  ", one.path(), ": ",
                            text ? Text(one.value().text()) : ValueText(one.value()), "\n"));
  }
  return writer.Take();
}

}  // namespace dt::spec
