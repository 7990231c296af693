// experiment_file.cc: walks the tree of an experiment file along the field tables.
#include "cli/file/experiment_file.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/file/diagnostics.h"
#include "cli/file/override.h"
#include "cli/file/range.h"
#include "cli/file/yaml_tree.h"
#include "common/limits.h"
#include "spec/spec.h"

namespace dt::cli {
namespace {

namespace v1 = ::dtrain::v1;
using spec::Field;
using spec::FieldType;
using Kind = YamlNode::Kind;

// Reads one tree. Problems are gathered with their marks; reading goes on after each.
class Reader {
 public:
  explicit Reader(const YamlTree& tree) : problems_(tree.problems) {
    out_ = spec::DefaultExperiment();
    out_.set_version(0);
    if (tree.readable) ReadRoot(tree.root);
    // In the order of the table, whatever the file's: equal files give equal specifications.
    for (const Field& field : spec::FieldTable()) {
      if (set_.contains(field.path)) out_.add_explicit_paths(field.path);
    }
    // Only a tree that was read whole can miss something.
    if (tree.readable && tree.root.kind == Kind::kMap) AddIssues();
  }

  v1::ExperimentSpec TakeSpec() { return std::move(out_); }
  std::vector<YamlProblem> TakeProblems() { return std::move(problems_); }
  // REQUIRES: there are no problems.
  std::vector<YamlProblem> Warnings() const {
    std::vector<YamlProblem> warnings;
    for (spec::Issue& issue : spec::Warnings(out_)) warnings.push_back(At(std::move(issue)));
    return warnings;
  }

 private:
  void Report(const Mark& mark, std::string path, std::string code, std::string message,
              std::string hint = "") {
    problems_.push_back(
        {mark, std::move(path), std::move(code), std::move(message), std::move(hint)});
  }
  // A value that could not be read: what Validate says of its absence is not reported again.
  void Refuse(const Mark& mark, const std::string& path, spec::Issue issue) {
    refused_.insert(path);
    Report(mark, path, std::move(issue.code), std::move(issue.message), std::move(issue.hint));
  }
  void RefuseKind(const YamlNode& node, const std::string& path, const std::string& expected,
                  std::string hint = "") {
    if (node.reported) {
      refused_.insert(path);
      return;
    }
    Refuse(node.mark, path,
           {path, node.kind == Kind::kNull ? "empty" : "wrong_type",
            absl::StrCat("'", path, "' is ", KindText(node), "; it must be ", expected),
            std::move(hint)});
  }

  void ReadRoot(const YamlNode& root) {
    if (root.kind == Kind::kNull) {
      Report(root.mark, "", "empty", "the file is empty",
             "the smallest has version, name and data");
      return;
    }
    if (root.kind != Kind::kMap) {
      Report(root.mark, "", "wrong_type",
             absl::StrCat("the file is ", KindText(root), "; it must be a map of sections"));
      return;
    }
    for (const YamlEntry& entry : root.entries) {
      marks_[entry.key] = entry.mark;
      if (entry.key == "parameters") {
        ReadParameters(entry.value);
      } else if (entry.key == "exclude") {
        ReadExclusions(entry.value);
      } else {
        ReadEntry("", entry);
      }
    }
  }

  // A field, a section, or a mistake.
  void ReadEntry(const std::string& parent, const YamlEntry& entry) {
    const std::string path = ChildPath(parent, entry.key);
    const Field* field = spec::FindField(path);
    const Field* own = spec::FindExperimentField(path);
    const auto& words = spec::TopWords();
    const bool dotted = entry.key.find('.') != std::string::npos;
    if (dotted ||
        (field == nullptr && own == nullptr &&
         (!parent.empty() || std::find(words.begin(), words.end(), path) == words.end()))) {
      ReportUnknown(parent, entry);
      return;
    }
    marks_[path] = entry.value.mark;
    if (field != nullptr) {
      ReadField(*field, entry.value);
    } else if (own != nullptr) {
      ReadOwnField(*own, entry.value);
    } else if (entry.value.kind != Kind::kMap) {
      RefuseKind(entry.value, path, "a map of fields",
                 entry.value.kind == Kind::kNull ? "remove it, or indent its fields below it" : "");
    } else {
      marks_[path] = entry.mark;
      for (const YamlEntry& child : entry.value.entries) ReadEntry(path, child);
    }
  }

  void ReportUnknown(const std::string& parent, const YamlEntry& entry) {
    const std::string path = ChildPath(parent, entry.key);
    if (spec::IsReserved(path)) {
      Report(entry.mark, path, "not_available", absl::StrCat("'", path, "' is not yet available"));
      return;
    }
    std::string near = spec::SuggestPath(path);
    std::string hint = near.empty() ? "" : absl::StrCat("did you mean '", near, "'?");
    if (near == path) {
      const size_t dot = path.find('.');
      hint = absl::StrCat("dots are for parameters and exclude; here write ", path.substr(0, dot),
                          ": {", path.substr(dot + 1), ": …}");
    }
    Report(entry.mark, path, "unknown_key", absl::StrCat("unknown key '", path, "'"),
           std::move(hint));
  }

  // A value of a field, from a scalar or, for lists of numbers, a sequence.
  std::optional<v1::Value> ReadValue(const Field& field, const YamlNode& node,
                                     const std::string& path) {
    std::string text = node.text;
    if (field.type == FieldType::kNumbers && node.kind == Kind::kSequence) {
      for (size_t i = 0; i < node.items.size(); ++i) {
        const YamlNode& item = node.items[i];
        Field element = field;
        element.path = absl::StrCat(path, "[", i, "]");
        element.type = FieldType::kNumber;
        if (item.kind != Kind::kScalar) {
          RefuseKind(item, element.path, "a number");
          refused_.insert(path);
          return std::nullopt;
        }
        spec::ReadValue read = spec::ReadText(element, item.text, item.quoting);
        if (!read.value) {
          refused_.insert(path);
          Refuse(item.mark, element.path, std::move(read.issue));
          return std::nullopt;
        }
        absl::StrAppend(&text, i == 0 ? "[" : ", ", item.text);
      }
      text = absl::StrCat(text.empty() ? "[" : text, "]");
    } else if (node.kind != Kind::kScalar) {
      const bool list = field.type == FieldType::kNumbers;
      RefuseKind(
          node, path, list ? absl::StrCat("a list of ", field.count, " numbers") : "a single value",
          node.kind == Kind::kSequence && field.sweepable && !absl::StartsWith(path, "parameters.")
              ? absl::StrCat("to try several values, write ", field.path, " under parameters")
              : "");
      return std::nullopt;
    }
    spec::ReadValue read = spec::ReadText(field, text, node.quoting);
    if (!read.value) Refuse(node.mark, path, std::move(read.issue));
    return std::move(read.value);
  }

  void ReadField(const Field& field, const YamlNode& node) {
    set_.insert(field.path);
    if (field.type == FieldType::kLabels) {
      ReadLabels(node, field.path, *out_.mutable_base()->mutable_resources()->mutable_env());
    } else if (const auto value = ReadValue(field, node, field.path)) {
      SetChecked(spec::SetField(*out_.mutable_base(), field.path, *value), node, field.path);
    }
  }
  void ReadOwnField(const Field& field, const YamlNode& node) {
    if (field.type == FieldType::kLabels) {
      ReadLabels(node, field.path, *out_.mutable_labels());
    } else if (const auto value = ReadValue(field, node, field.path)) {
      SetChecked(spec::SetExperimentField(out_, field.path, *value), node, field.path);
    }
  }
  void SetChecked(const absl::Status& status, const YamlNode& node, const std::string& path) {
    if (status.ok()) return;
    Refuse(node.mark, path, {path, "wrong_type", std::string(status.message()), ""});
  }

  template <typename Labels>
  void ReadLabels(const YamlNode& node, const std::string& path, Labels& labels) {
    if (node.kind != Kind::kMap) {
      RefuseKind(node, path, "a map of names to text");
      return;
    }
    for (const YamlEntry& entry : node.entries) {
      const std::string child = ChildPath(path, entry.key);
      marks_[child] = entry.mark;
      if (entry.value.kind != Kind::kScalar) {
        RefuseKind(entry.value, child, "text");
        continue;
      }
      v1::Label& label = *labels.Add();
      label.set_key(entry.key);
      label.set_value(entry.value.text);
    }
  }

  // --- parameters ---
  void ReadParameters(const YamlNode& node) {
    if (node.kind != Kind::kMap) {
      RefuseKind(node, "parameters", "a map of fields to lists of values",
                 "for example: parameters: {optimizer.lr: [1.0e-3, 1.0e-4]}");
      return;
    }
    for (const YamlEntry& entry : node.entries) {
      const std::string path = ChildPath("parameters", entry.key);
      marks_[path] = entry.mark;
      const Field* field = spec::FindField(entry.key);
      v1::Parameter& parameter = *out_.add_parameters();
      parameter.set_path(entry.key);
      // Validate names unknown fields and those that cannot be swept.
      if (field != nullptr && field->sweepable) {
        ReadParameter(*field, entry.value, path, parameter);
      } else if (field == nullptr && entry.value.kind == Kind::kMap &&
                 spec::FindField(absl::StrCat(
                     entry.key, ".",
                     entry.value.entries.empty() ? "" : entry.value.entries[0].key)) != nullptr) {
        const std::string dotted = ChildPath(entry.key, entry.value.entries[0].key);
        Refuse(entry.mark, path,
               {path, "wrong_type", "parameters are written with dots",
                absl::StrCat("write ", dotted, ": […]")});
      }
    }
  }

  void ReadParameter(const Field& field, const YamlNode& node, const std::string& path,
                     v1::Parameter& parameter) {
    if (node.kind == Kind::kSequence) {
      ReadValues(field, node, path, parameter);
      return;
    }
    if (node.kind != Kind::kMap) {
      RefuseKind(node, path, "a list of values",
                 node.kind == Kind::kScalar ? absl::StrCat("write [", node.text, "]") : "");
      return;
    }
    std::map<std::string, const YamlEntry*> words;
    for (const YamlEntry& entry : node.entries) {
      static const std::vector<std::string> kKnown{"values", "value", "min",
                                                   "max",    "scale", "count"};
      const std::string child = ChildPath(path, entry.key);
      if (std::find(kKnown.begin(), kKnown.end(), entry.key) != kKnown.end()) {
        words[entry.key] = &entry;
      } else if (entry.key == "probabilities" || entry.key == "step" || entry.key == "type" ||
                 entry.key == "distribution") {
        Refuse(entry.mark, path,
               {child, "not_available", absl::StrCat("'", child, "' is not yet available"), ""});
      } else {
        const std::string near = spec::Suggest(entry.key, kKnown);
        Refuse(entry.mark, path,
               {child, "unknown_key", absl::StrCat("unknown key '", child, "'"),
                near.empty() ? "it may hold values, value, or min, max, scale and count"
                             : absl::StrCat("did you mean '", near, "'?")});
      }
    }
    if (refused_.contains(path)) return;
    if (words.contains("values") && words.size() == 1) {
      const YamlNode& values = words["values"]->value;
      if (values.kind == Kind::kSequence) {
        ReadValues(field, values, path, parameter);
      } else {
        RefuseKind(values, path, "a list of values");
      }
    } else if (words.contains("value") && words.size() == 1) {
      ReadOne(field, words["value"]->value, Indexed(path, 0), path, parameter);
    } else if (words.contains("values") || words.contains("value")) {
      Refuse(node.mark, path,
             {path, "conflict", absl::StrCat("'", path, "' mixes values with a range"),
              "keep one of values, value, or min, max and count"});
    } else {
      ReadRange(field, node, words, path, parameter);
    }
  }

  static std::string Indexed(const std::string& path, size_t index) {
    return absl::StrCat(path, "[", index, "]");
  }

  void ReadValues(const Field& field, const YamlNode& list, const std::string& path,
                  v1::Parameter& parameter) {
    for (size_t i = 0; i < list.items.size(); ++i) {
      ReadOne(field, list.items[i], Indexed(path, i), path, parameter);
    }
  }

  void ReadOne(const Field& field, const YamlNode& node, const std::string& at,
               const std::string& path, v1::Parameter& parameter) {
    // Validate counts the values that could be read; so do the marks.
    marks_[Indexed(path, static_cast<size_t>(parameter.values_size()))] = node.mark;
    if (auto value = ReadValue(field, node, at)) {
      *parameter.add_values() = *std::move(value);
    } else {
      refused_.erase(at);  // a later value takes its number
      shortened_.insert(path);
    }
  }

  // {min, max, scale, count}: `count` values from min to max, evenly spaced or evenly multiplied.
  void ReadRange(const Field& field, const YamlNode& node,
                 const std::map<std::string, const YamlEntry*>& words, const std::string& path,
                 v1::Parameter& parameter) {
    const auto refuse = [&](const Mark& mark, std::string code, std::string message,
                            std::string hint = "") {
      Refuse(mark, path, {path, std::move(code), std::move(message), std::move(hint)});
    };
    if (field.type != FieldType::kNumber && field.type != FieldType::kInteger) {
      refuse(node.mark, "wrong_type", absl::StrCat("'", field.path, "' has no range"),
             "list its values");
      return;
    }
    for (const char* word : {"min", "max", "count"}) {
      if (!words.contains(word)) {
        refuse(node.mark, "missing", absl::StrCat("'", path, "' lacks ", word),
               "a range of a grid has min, max and count");
      }
    }
    if (refused_.contains(path)) return;
    Field count_field = CountField(ChildPath(path, "count"));
    Field scale_field = ScaleField(ChildPath(path, "scale"));
    Field bound = field;
    const auto read = [&](Field& of, const char* word) {
      if (&of == &bound) bound.path = ChildPath(path, word);
      auto value = ReadValue(of, words.at(word)->value, ChildPath(path, word));
      if (!value) refused_.insert(path);
      return value;
    };
    const auto min = read(bound, "min"), max = read(bound, "max"),
               count = read(count_field, "count");
    std::optional<v1::Value> scale;
    if (words.contains("scale")) scale = read(scale_field, "scale");
    if (refused_.contains(path)) return;
    const bool integer = field.type == FieldType::kInteger;
    const double low = integer ? static_cast<double>(min->integer()) : min->number();
    const double high = integer ? static_cast<double>(max->integer()) : max->number();
    const Scaling scaling = scale && scale->text() == "log" ? Scaling::kLog : Scaling::kLinear;
    if (low >= high) {
      refuse(words.at("max")->value.mark, "conflict",
             absl::StrCat("'", path, "' has min ", words.at("min")->value.text, " and max ",
                          words.at("max")->value.text, "; max must be above min"));
    } else if (scaling == Scaling::kLog && low <= 0) {
      refuse(words.at("min")->value.mark, "conflict",
             absl::StrCat("'", path, "' has scale log; its min must be above 0"));
    } else if (const int64_t most = MostValues({field.type, low, high, count->integer(), scaling});
               most < count->integer()) {
      refuse(words.at("count")->value.mark, "conflict",
             absl::StrCat("'", path, "' has count ", count->integer(),
                          ", and some of its values are the same whole number"),
             most < 2 ? "list its values" : absl::StrCat("with a count of ", most, " all differ"));
    } else {
      for (v1::Value& value : RangeValues({field.type, low, high, count->integer(), scaling})) {
        marks_[Indexed(path, static_cast<size_t>(parameter.values_size()))] = node.mark;
        *parameter.add_values() = std::move(value);
      }
    }
  }

  // --- exclude ---
  void ReadExclusions(const YamlNode& node) {
    if (node.kind != Kind::kSequence) {
      RefuseKind(node, "exclude", "a list of combinations",
                 "for example: exclude: [{train.batch_size: 32}]");
      return;
    }
    for (size_t i = 0; i < node.items.size(); ++i) {
      const YamlNode& item = node.items[i];
      const std::string entry = Indexed("exclude", i);
      marks_[entry] = item.mark;
      v1::Exclusion& exclusion = *out_.add_exclude();
      if (item.kind != Kind::kMap) {
        RefuseKind(item, entry, "a map of parameters to values");
        continue;
      }
      for (const YamlEntry& where : item.entries) {
        const std::string path = ChildPath(entry, where.key);
        marks_[path] = where.value.kind == Kind::kNull ? where.mark : where.value.mark;
        const Field* field = spec::FindField(where.key);
        v1::Assignment& assignment = *exclusion.add_where();
        assignment.set_path(where.key);
        if (field == nullptr) {
          marks_[path] = where.mark;
          continue;  // Validate: not among parameters
        }
        if (const auto value = ReadValue(*field, where.value, path)) {
          *assignment.mutable_value() = *value;
        }
      }
    }
  }

  // --- what Validate finds, at the place it concerns ---
  bool SaidAlready(const std::string& path) const {
    for (const std::string& refused : refused_) {
      if (path == refused || absl::StartsWith(path, refused + ".") ||
          absl::StartsWith(path, refused + "[")) {
        return true;
      }
    }
    if (shortened_.contains(path)) return true;
    // A parameter that lost values makes exclusions look wrong that are right.
    const bool lost = !shortened_.empty() ||
                      std::any_of(refused_.begin(), refused_.end(), [](const std::string& refused) {
                        return absl::StartsWith(refused, "parameters");
                      });
    return lost && absl::StartsWith(path, "exclude");
  }

  Mark Nearest(std::string path) const {
    while (!path.empty()) {
      if (const auto found = marks_.find(path); found != marks_.end()) return found->second;
      const size_t end = path.find_last_of(".[");
      path.resize(end == std::string::npos ? 0 : end);
    }
    return Mark();
  }

  void AddIssues() {
    for (spec::Issue& issue : spec::Validate(out_)) {
      if (!SaidAlready(issue.path)) problems_.push_back(At(std::move(issue)));
    }
  }

  YamlProblem At(spec::Issue issue) const {
    const Mark mark = Nearest(issue.path);
    return {mark, std::move(issue.path), std::move(issue.code), std::move(issue.message),
            std::move(issue.hint)};
  }

  v1::ExperimentSpec out_;
  std::vector<YamlProblem> problems_;
  std::map<std::string, Mark> marks_;  // of values, and of keys where a key is what matters
  std::set<std::string> set_;
  std::set<std::string> refused_;
  std::set<std::string> shortened_;  // parameters that lost a value
};

}  // namespace

ExperimentFile ReadExperimentFile(std::string_view text, std::string_view file_name,
                                  const std::vector<std::string>& overrides) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  YamlTree tree = ParseYaml(text);
  for (size_t i = 0; tree.readable && i < overrides.size(); ++i) {
    ApplyOverride(overrides[i], static_cast<int>(i) + 1, tree);
  }
  Reader reader(tree);
  ExperimentFile file;
  file.effective_text = std::string(text);
  file.diagnostics =
      ToDiagnostics(reader.TakeProblems(), Severity::kError, text, file_name, overrides);
  if (file.diagnostics.empty()) {
    file.warnings =
        ToDiagnostics(reader.Warnings(), Severity::kWarning, text, file_name, overrides);
  }
  file.spec = reader.TakeSpec();
  if (overrides.empty() || !file.diagnostics.empty()) return file;
  // The text with --set written into it keeps its comments; where that does not come out the same,
  // the tree is printed anew.
  file.effective_text = SpliceOverrides(text, overrides);
  Reader again(ParseYaml(file.effective_text));
  if (!again.TakeProblems().empty() ||
      again.TakeSpec().SerializeAsString() != file.spec.SerializeAsString()) {
    file.effective_text =
        absl::StrCat("# ", std::string(file_name), ", with --set ",
                     absl::StrJoin(overrides, " --set "), "\n", PrintYaml(tree.root));
  }
  return file;
}

}  // namespace dt::cli
