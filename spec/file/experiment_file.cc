// experiment_file.cc: reads the tree of an experiment file along the field tables.
#include "spec/file/experiment_file.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "spec/file/combinations.h"
#include "spec/file/diagnostics.h"
#include "spec/file/override.h"
#include "spec/file/reading.h"
#include "spec/file/several.h"
#include "spec/file/sweep.h"
#include "spec/file/yaml_tree.h"
#include "spec/search.h"
#include "spec/spec.h"

namespace dt::spec {
namespace {

using Kind = YamlNode::Kind;

// Reads one tree. Collects problems with their marks, and goes on after each.
class ExperimentFileReader {
 public:
  ExperimentFileReader(const YamlTree& tree, const MayGoOn& may_go_on)
      : may_go_on_(may_go_on), reading_(tree.problems) {
    out_ = spec::DefaultExperiment();
    out_.set_version(0);
    if (tree.readable) ReadRoot(tree.root);
    // Only a tree that was read completely can miss something.
    if (tree.readable && tree.root.kind == Kind::kMap) AddIssues();
  }

  v1::ExperimentSpec TakeSpec() { return std::move(out_); }
  std::vector<YamlProblem> TakeProblems() { return reading_.TakeProblems(); }
  // REQUIRES: there are no problems.
  std::vector<YamlProblem> Warnings() const {
    std::vector<YamlProblem> warnings;
    for (spec::Issue& issue : spec::Warnings(out_, may_go_on_))
      warnings.push_back(reading_.At(std::move(issue)));
    return warnings;
  }

 private:
  void ReadRoot(const YamlNode& root) {
    if (root.kind == Kind::kNull) {
      reading_.Report(root.mark, "", "empty", "the file is empty",
                      "the smallest has version, name and data");
      return;
    }
    if (root.kind != Kind::kMap) {
      reading_.Report(
          root.mark, "", "wrong_type",
          absl::StrCat("the file is ", KindText(root), "; it must be a map of sections"));
      return;
    }
    const YamlNode* parameters = nullptr;
    const YamlNode* include = nullptr;
    const YamlNode* exclude = nullptr;
    for (const YamlEntry& entry : root.entries) {
      reading_.Place(entry.key, entry.mark);
      if (entry.key == "parameters") {
        parameters = &entry.value;
      } else if (entry.key == "exclude") {
        exclude = &entry.value;
      } else if (entry.key == "include") {
        include = &entry.value;
      } else if (entry.key == "seeds") {
        ReadSeeds(entry.value, reading_, out_);
      } else {
        ReadEntry("", entry);
      }
    }
    ReadMisnamedProgram();
    ListExplicit();
    // These come last: the meaning of a range depends on the method, that of a name on whether the
    // file runs a program, and that of a combination on the parameters.
    if (parameters != nullptr) ReadParameters(*parameters, reading_, out_);
    if (exclude != nullptr) ReadExclusions(*exclude, reading_, out_);
    if (include != nullptr) ReadInclusions(*include, reading_, out_);
  }

  // Lists paths in the order of the table, whatever the file's order, so that equal files give
  // equal specifications.
  void ListExplicit() {
    for (const Field& field : spec::FieldTable()) {
      if (set_.contains(field.path)) out_.add_explicit_paths(field.path);
    }
  }

  // Reads a field, a section, or a mistake.
  void ReadEntry(const std::string& parent, const YamlEntry& entry) {
    const std::string path = ChildPath(parent, entry.key);
    const Field* field = spec::FindField(path);
    const Field* own = spec::FindExperimentField(path);
    const auto& words = spec::TopWords();
    const bool dotted = entry.key.find('.') != std::string::npos;
    if (dotted ||
        (field == nullptr && own == nullptr && !spec::IsSection(path) &&
         (!parent.empty() || std::find(words.begin(), words.end(), path) == words.end()))) {
      ReportUnknown(parent, entry);
      return;
    }
    reading_.Place(path, entry.value.mark);
    if (field != nullptr) {
      ReadField(*field, entry.value);
    } else if (own != nullptr) {
      ReadOwnField(*own, entry.value);
    } else if (entry.value.kind != Kind::kMap) {
      reading_.RefuseKind(entry.value, path, "a map of fields",
                          entry.value.kind == Kind::kNull
                              ? "remove it, or indent its fields below it"
                              : FieldMeant(path, entry.value));
    } else {
      reading_.Place(path, entry.mark);
      for (const YamlEntry& child : entry.value.entries) ReadEntry(path, child);
    }
  }

  // Returns how to write a single value in place of a section: as the field that people mean by it.
  static std::string FieldMeant(const std::string& section, const YamlNode& value) {
    static constexpr std::pair<const char*, const char*> kMeant[] = {
        {"environment", "uv"}, {"metrics", "pattern"}, {"resources", "gpus"}, {"retries", "max"},
        {"search", "method"},  {"stop", "patience"},   {"timeout", "total"}};
    constexpr size_t kShown = 40;
    const auto* const found =
        std::find_if(std::begin(kMeant), std::end(kMeant),
                     [&section](const auto& one) { return one.first == section; });
    const bool plain = value.kind == Kind::kScalar && value.text.size() <= kShown &&
                       value.text.find_first_of("{}[],:#\n") == std::string::npos;
    if (found == std::end(kMeant) || !plain) return SectionHint(section);
    return absl::StrCat("write ", section, ": {", found->second, ": ", value.text, "}");
  }

  // Reads a program under a wrong name, such as `comand`. Otherwise the file would be taken for
  // one of dtrain's own trainer, with an error for each name and field that only programs have.
  void ReadMisnamedProgram() {
    v1::Spec& base = *out_.mutable_base();
    if (misnamed_program_ == nullptr || !base.command().empty() || !base.run().empty()) return;
    for (const char* path : {"command", "run"}) reading_.Place(path, misnamed_program_->mark);
    if (misnamed_program_->value.kind == Kind::kScalar) {
      base.set_run(misnamed_program_->value.text);
    }
    for (const YamlNode& word : misnamed_program_->value.items) {
      if (word.kind == Kind::kScalar) base.add_command(word.text);
    }
  }

  // Returns the hint for an unknown key that resembles none: the keys of its section, if they are
  // few enough to read.
  static std::string SectionHint(const std::string& section) {
    constexpr size_t kMost = 16;
    std::vector<std::string> keys;
    for (const auto* table : {&spec::ExperimentFieldTable(), &spec::FieldTable()}) {
      for (const Field& field : *table) {
        if (!field.path.starts_with(section + ".")) continue;
        const std::string rest(field.path.substr(section.size() + 1));
        const std::string key = rest.substr(0, rest.find('.'));
        if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
      }
    }
    if (section.empty() || keys.empty() || keys.size() > kMost) return "";
    return absl::StrCat(section, " may hold ", absl::StrJoin(keys, ", "));
  }

  void ReportUnknown(const std::string& parent, const YamlEntry& entry) {
    const std::string path = ChildPath(parent, entry.key);
    if (spec::IsReserved(path)) {
      reading_.Report(entry.mark, path, "not_available",
                      absl::StrCat("'", path, "' is not yet available"));
      return;
    }
    std::string hint = spec::PathHint(path);
    if (spec::SuggestPath(path) == path) {
      const size_t dot = path.find('.');
      hint = absl::StrCat("dots are for parameters and exclude; here write ", path.substr(0, dot),
                          ": {", path.substr(dot + 1), ": …}");
    }
    if (hint.empty()) hint = SectionHint(parent);
    const std::string meant = spec::SuggestPath(path);
    if (!meant.empty()) meant_.insert(meant);
    if (parent.empty() && (meant == "command" || meant == "run")) misnamed_program_ = &entry;
    reading_.Report(entry.mark, path, "unknown_key", absl::StrCat("unknown key '", path, "'"),
                    std::move(hint));
  }

  void ReadField(const Field& field, const YamlNode& node) {
    if (field.path == "code" && node.kind == Kind::kMap) return ReadCode(field, node);
    set_.insert(field.path);
    if (field.type == FieldType::kTexts) {
      ReadTexts(node, field, spec::MutableTexts(*out_.mutable_base(), field.path));
    } else if (field.type == FieldType::kLabels) {
      ReadLabels(node, field.path, spec::MutableLabels(*out_.mutable_base(), field.path));
    } else if (const auto value = reading_.ReadValue(field, node, field.path)) {
      SetChecked(spec::SetField(*out_.mutable_base(), field.path, *value), node, field.path);
    }
  }
  // Reads code: {folder: ., include: [data/*.bin]}.
  void ReadCode(const Field& folder, const YamlNode& node) {
    for (const YamlEntry& entry : node.entries) {
      reading_.Place(entry.key == "include" ? "code_include" : "code", entry.value.mark);
      if (entry.key == "folder" && entry.value.kind == Kind::kScalar) {
        ReadField(folder, entry.value);
      } else if (entry.key == "folder") {
        reading_.RefuseKind(entry.value, "code.folder", "text");
      } else if (entry.key == "include") {
        ReadField(*spec::FindField("code_include"), entry.value);
      } else {
        reading_.Report(entry.mark, "code", "unknown_key",
                        absl::StrCat("unknown key 'code.", entry.key, "'"),
                        "write code: {folder: ., include: [data/*.bin]}");
      }
    }
    if (set_.insert("code").second) {
      reading_.Report(node.mark, "code", "missing", "code has no folder",
                      "write code: {folder: ., include: [data/*.bin]}");
      reading_.Silence("code_include");
    }
  }
  void ReadOwnField(const Field& field, const YamlNode& node) {
    own_.emplace(field.path, node.mark);
    if (field.type == FieldType::kLabels) {
      ReadLabels(node, field.path, *out_.mutable_labels());
    } else if (field.type == FieldType::kTexts) {
      ReadTexts(node, field, spec::MutableExperimentTexts(out_, field.path));
    } else if (const auto value = reading_.ReadValue(field, node, field.path)) {
      SetChecked(spec::SetExperimentField(out_, field.path, *value), node, field.path);
    } else if (field.path == "search.method") {
      ForgetMethod();
    }
  }
  // The method is unknown, so rules of another method must report nothing. Ranges are read as in
  // most methods.
  void ForgetMethod() {
    out_.mutable_search()->set_method("random");
    for (const char* of_a_method : {"search.max_trials", "search.sampler", "search.asha",
                                    "search.asha.brackets", "search.pbt"}) {
      reading_.Silence(of_a_method);
    }
  }
  void SetChecked(const absl::Status& status, const YamlNode& node, const std::string& path) {
    if (status.ok()) return;
    reading_.Refuse(node.mark, path, {path, "wrong_type", std::string(status.message()), ""});
  }

  template <typename Texts>
  void ReadTexts(const YamlNode& node, const Field& field, Texts& texts) {
    const std::string& path = field.path;
    if (node.kind == Kind::kScalar && field.one_text) {
      *texts.Add() = node.text;
      return;
    }
    if (node.kind != Kind::kSequence) {
      const bool text = node.kind == Kind::kScalar && path == "command";
      reading_.RefuseKind(node, path, "a list of texts",
                          text ? "write each word apart, or write run for a text of the shell"
                               : HintAtOne(path, node));
      return;
    }
    for (size_t i = 0; i < node.items.size(); ++i) {
      const std::string at = IndexedPath(path, i);
      reading_.Place(at, node.items[i].mark);
      if (node.items[i].kind == Kind::kMap && !node.items[i].entries.empty()) {
        reading_.RefuseKind(node.items[i], at, "text", "write words with braces in quotes");
      } else if (node.items[i].kind != Kind::kScalar) {
        reading_.RefuseKind(node.items[i], at, "text");
      }
      *texts.Add() = node.items[i].text;
    }
  }

  template <typename Labels>
  void ReadLabels(const YamlNode& node, const std::string& path, Labels& labels) {
    if (node.kind != Kind::kMap) {
      reading_.RefuseKind(node, path, "a map of names to text");
      return;
    }
    for (const YamlEntry& entry : node.entries) {
      const std::string child = ChildPath(path, entry.key);
      reading_.Place(child, entry.mark);
      if (entry.value.kind != Kind::kScalar) {
        reading_.RefuseKind(entry.value, child, "text");
        continue;
      }
      v1::Label& label = *labels.Add();
      label.set_key(entry.key);
      label.set_value(entry.value.text);
    }
  }

  // A message cannot tell a default from a value that the file gives.
  void RefuseTwoWays() {
    for (const auto& [one, several] : {std::pair("search.metric", "search.metrics"),
                                       std::pair("search.goal", "search.metrics")}) {
      const auto found = own_.find(one);
      if (found == own_.end() || !own_.contains(several)) continue;
      reading_.Report(found->second, one, "conflict",
                      absl::StrCat(one, " and ", several, " are two ways to say one thing"),
                      std::string_view(one) == "search.metric"
                          ? "keep one"
                          : "write search.goals, a word for each of search.metrics");
    }
  }

  void AddIssues() {
    RefuseTwoWays();
    for (spec::Issue& issue : spec::Validate(out_, may_go_on_)) {
      // The field is there, under a wrong name that is reported already.
      if (issue.code == "missing" && meant_.contains(issue.path)) continue;
      reading_.Add(std::move(issue));
    }
  }

  const MayGoOn& may_go_on_;
  v1::ExperimentSpec out_;
  Reading reading_;
  std::set<std::string> set_;
  std::set<std::string> meant_;                             // paths that unknown keys seem to mean
  const YamlEntry* misnamed_program_ = nullptr;             // of the tree
  std::map<std::string, SourcePosition, std::less<>> own_;  // its own fields that the file sets
};

}  // namespace

ExperimentFile ReadExperimentFile(std::string_view text, std::string_view file_name,
                                  const std::vector<std::string>& overrides,
                                  const MayGoOn& may_go_on) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  YamlTree tree = ParseYaml(text);
  for (size_t i = 0; tree.readable && i < overrides.size(); ++i) {
    ApplyOverride(overrides[i], static_cast<int>(i) + 1, tree);
  }
  ExperimentFileReader reader(tree, may_go_on);
  ExperimentFile file;
  file.effective_text = std::string(text);
  file.diagnostics =
      ToDiagnostics(reader.TakeProblems(), Severity::kError, text, file_name, overrides);
  if (file.diagnostics.empty()) {
    file.warnings =
        ToDiagnostics(reader.Warnings(), Severity::kWarning, text, file_name, overrides);
  }
  file.spec = reader.TakeSpec();
  if (overrides.empty() || !file.diagnostics.empty() || !GoesOn(may_go_on)) return file;
  // The text with --set written into it keeps its comments. If it does not give the same result,
  // the tree is printed instead.
  file.effective_text = SpliceOverrides(text, overrides, may_go_on);
  ExperimentFileReader again(ParseYaml(file.effective_text), may_go_on);
  if (!again.TakeProblems().empty() ||
      again.TakeSpec().SerializeAsString() != file.spec.SerializeAsString()) {
    file.effective_text =
        absl::StrCat("# ", std::string(file_name), ", with --set ",
                     absl::StrJoin(overrides, " --set "), "\n", PrintYaml(tree.root));
  }
  return file;
}

}  // namespace dt::spec
