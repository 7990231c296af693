// reading.cc: the problems and places of one tree.
#include "spec/file/reading.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "spec/file/several.h"

namespace dt::spec {

using Kind = YamlNode::Kind;

std::string IndexedPath(const std::string& path, size_t index) {
  return absl::StrCat(path, "[", index, "]");
}

void Reading::Report(const SourcePosition& mark, std::string path, std::string code,
                     std::string message, std::string hint) {
  problems_.push_back(
      {mark, std::move(path), std::move(code), std::move(message), std::move(hint)});
}

void Reading::Refuse(const SourcePosition& mark, const std::string& path, spec::Issue issue) {
  refused_.insert(path);
  Report(mark, path, std::move(issue.code), std::move(issue.message), std::move(issue.hint));
}

void Reading::RefuseKind(const YamlNode& node, const std::string& path, const std::string& expected,
                         std::string hint) {
  if (node.reported) {
    refused_.insert(path);
    return;
  }
  Refuse(node.mark, path,
         {path, node.kind == Kind::kNull ? "empty" : "wrong_type",
          absl::StrCat("'", path, "' is ", KindText(node), "; it must be ", expected),
          std::move(hint)});
}

void Reading::LeaveOut(const std::string& at, const std::string& path) {
  refused_.erase(at);
  shortened_.insert(path);
}

// Returns the list as text, "[0.9, 0.95]".
std::optional<std::string> Reading::ReadList(const Field& field, const YamlNode& node,
                                             const std::string& path) {
  std::string text = "[";
  for (size_t i = 0; i < node.items.size(); ++i) {
    const YamlNode& item = node.items[i];
    Field element = field;
    element.path = IndexedPath(path, i);
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
    absl::StrAppend(&text, i == 0 ? "" : ", ", item.text);
  }
  return absl::StrCat(text, "]");
}

std::optional<spec::v1::Value> Reading::ReadValue(const Field& field, const YamlNode& node,
                                                  const std::string& path) {
  std::string text = node.text;
  if (field.type == FieldType::kNumbers && node.kind == Kind::kSequence) {
    const std::optional<std::string> list = ReadList(field, node, path);
    if (!list) return std::nullopt;
    text = *list;
  } else if (node.kind != Kind::kScalar) {
    const bool list = field.type == FieldType::kNumbers;
    std::string hint = node.kind == Kind::kSequence ? HintAtSeveral(path, node) : "";
    if (hint.empty() && node.kind == Kind::kSequence && field.sweepable &&
        !absl::StartsWith(path, "parameters.")) {
      hint = absl::StrCat("to try several values, write ", field.path, " under parameters");
    }
    RefuseKind(node, path,
               list ? absl::StrCat("a list of ", field.count, " numbers") : "a single value",
               std::move(hint));
    return std::nullopt;
  }
  spec::ReadValue read = spec::ReadText(field, text, node.quoting);
  if (!read.value) Refuse(node.mark, path, std::move(read.issue));
  return std::move(read.value);
}

bool Reading::SaidAlready(const std::string& path) const {
  // Checks the path and every path that holds it.
  for (size_t end = path.size(); end != std::string::npos && end > 0;
       end = path.find_last_of(".[", end - 1)) {
    if (refused_.contains(path.substr(0, end))) return true;
  }
  if (shortened_.contains(path)) return true;
  // If a parameter lost values, correct exclusions look wrong.
  const auto parameters = refused_.lower_bound("parameters");
  const bool lost = !shortened_.empty() ||
                    (parameters != refused_.end() && absl::StartsWith(*parameters, "parameters"));
  return lost && (absl::StartsWith(path, "exclude") || absl::StartsWith(path, "include"));
}

SourcePosition Reading::Nearest(std::string path) const {
  while (!path.empty()) {
    if (const auto found = marks_.find(path); found != marks_.end()) return found->second;
    const size_t end = path.find_last_of(".[");
    path.resize(end == std::string::npos ? 0 : end);
  }
  return SourcePosition();
}

YamlProblem Reading::At(spec::Issue issue) const {
  const SourcePosition mark = Nearest(issue.path);
  return {mark, std::move(issue.path), std::move(issue.code), std::move(issue.message),
          std::move(issue.hint)};
}

void Reading::Add(spec::Issue issue) {
  if (!SaidAlready(issue.path)) problems_.push_back(At(std::move(issue)));
}

}  // namespace dt::spec
