// validate_environment.cc: checks the environment of a program: one kind, its file, its index,
// its image.
#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/environment_file.h"
#include "common/environment_limits.h"
#include "common/image_name.h"
#include "common/limits.h"
#include "common/text.h"
#include "spec/internal.h"
#include "spec/program.h"

namespace dt::spec::internal {
namespace {

using AddIssue = const std::function<void(const std::string& path, const std::string& code,
                                          const std::string& message, const std::string& hint)>;

// Returns the kinds that the file names.
std::vector<std::string> KindsOf(const v1::Environment& environment) {
  std::vector<std::string> kinds;
  if (environment.uv_size() > 0) kinds.emplace_back("uv");
  if (!environment.image().empty()) kinds.emplace_back("image");
  if (!environment.conda().empty()) kinds.emplace_back("conda");
  if (environment.module_size() > 0) kinds.emplace_back("module");
  return kinds;
}

void CheckTexts(const v1::Environment& environment, AddIssue& add) {
  std::vector<std::pair<std::string, const std::string*>> texts = {
      {"environment.python", &environment.python()},
      {"environment.index", &environment.index()},
      {"environment.conda", &environment.conda()}};
  for (int i = 0; i < environment.uv_size(); ++i) {
    texts.emplace_back(absl::StrCat("environment.uv[", i, "]"), &environment.uv(i));
  }
  for (int i = 0; i < environment.module_size(); ++i) {
    texts.emplace_back(absl::StrCat("environment.module[", i, "]"), &environment.module(i));
  }
  for (const auto& [at, text] : texts) {
    const bool element = absl::EndsWith(at, "]");
    if (text->empty() && !element) continue;
    const std::string problem = TextProblem(*text, limits::kCodePathBytes, Lines::kOne);
    // A tool would take it as an option.
    if (!problem.empty()) {
      add(at, "bad_text", absl::StrCat(at, " ", problem), "");
    } else if (text->empty() || text->front() == '-' || text->front() == ' ') {
      add(at, "bad_text", absl::StrCat(at, " is ", Quote(*text), ", which is no name"),
          "remove it");
    } else if (element && HasUrlCredentials(*text)) {
      add(at, "bad_text", absl::StrCat(at, " holds a user or a password"),
          "leave them out; the workers' operator sets them, such as in a .netrc file");
    }
  }
  const std::string& python = environment.python();
  if (absl::StrContains(python, '/') && python.front() != '/') {
    add("environment.python", "bad_text",
        absl::StrCat("environment.python is ", Quote(python), ", a relative path"),
        "write an absolute path that each worker has, or a version such as \"3.11\"");
  }
}

// Returns whether a part of the path, between slashes, is one of these.
bool HasPart(const std::string& path, const std::vector<std::string>& parts) {
  for (const std::string& part : std::vector<std::string>(absl::StrSplit(path, '/'))) {
    if (std::find(parts.begin(), parts.end(), part) != parts.end()) return true;
  }
  return false;
}

// A module by a path is loaded from a folder that nobody chose, unless the path is absolute.
void CheckModules(const v1::Environment& environment, AddIssue& add) {
  for (int i = 0; i < environment.module_size(); ++i) {
    const std::string& module = environment.module(i);
    if (!HasPart(module, {".", ".."})) continue;
    const std::string at = absl::StrCat("environment.module[", i, "]");
    add(at, "bad_text", absl::StrCat(at, " ", Quote(module), " is a path with '.' or '..'"),
        "write the module's name, such as cuda/13.0, or the absolute path of its file");
  }
}

void CheckImage(const v1::Environment& environment, AddIssue& add) {
  const std::string& image = environment.image();
  if (image.empty()) return;
  const std::string problem = ImageNameProblem(image);
  if (problem.empty()) return;
  add("environment.image", "bad_text",
      absl::StrCat("environment.image ", Quote(image), " ", problem), "");
}

// A field of uv beside another kind; `hint` is the way of that kind.
void CheckFieldsOfUv(const v1::Environment& environment, const std::vector<std::string>& kinds,
                     AddIssue& add) {
  const std::string kind = kinds.empty() ? "" : kinds[0];
  if (!environment.index().empty() && EnvironmentKind(environment) != "uv") {
    add("environment.index", "conflict",
        "environment.index is for environment.uv, which is not set",
        kind == "conda" ? "name the channels in the file of environment.conda" : "remove it");
  }
  if (environment.python().empty() || kind.empty() || kind == "uv") return;
  const std::string& python = environment.python();
  const std::string hint =
      kind == "conda"    ? "name it in the file of environment.conda: python=" + python
      : kind == "module" ? "name a module that brings it, or the interpreter's path in the command"
                         : "choose an image with that Python";
  add("environment.python", "conflict",
      absl::StrCat("environment.python is for environment.uv, and ", kind,
                   " brings its own Python"),
      hint);
}

void CheckIndex(const v1::Environment& environment, AddIssue& add) {
  const std::string& index = environment.index();
  if (index.empty()) return;
  const bool url = absl::StartsWith(index, "https://") || absl::StartsWith(index, "http://") ||
                   absl::StartsWith(index, "file://");
  if (!url) {
    add("environment.index", "bad_text", "environment.index is no URL",
        "write one that begins with https://");
  } else if (index.substr(0, index.find('/', 8)).find('@') != std::string::npos) {
    add("environment.index", "bad_text", "environment.index holds a user or a password",
        "leave them out; the workers' operator sets them, such as in a .netrc file");
  }
}

void CheckFile(const v1::ExperimentSpec& spec, AddIssue& add) {
  const v1::Environment& environment = spec.base().environment();
  const std::string file = EnvironmentFile(environment);
  if (file.empty()) return;
  const std::string path = environment.conda().empty() ? "environment.uv" : "environment.conda";
  if (spec.base().code().empty()) {
    add(path, "missing",
        absl::StrCat(path, " names the file ", Quote(file), ", and code is not set"),
        "add: code: ., the folder with this file, which is sent along");
  }
  if (file[0] == '/' || HasPart(file, {".."})) {
    add(path, "out_of_range",
        absl::StrCat(path, " ", Quote(file), " is not below the folder of code"),
        "move it there; the path is relative to that folder");
  }
}

}  // namespace

void CheckEnvironment(const v1::ExperimentSpec& spec, std::vector<Issue>& issues) {
  const v1::Environment& environment = spec.base().environment();
  const std::function<void(const std::string&, const std::string&, const std::string&,
                           const std::string&)>
      add = [&issues](const std::string& path, const std::string& code, const std::string& message,
                      const std::string& hint) {
        issues.push_back({path, code, message, hint});
      };
  for (const char* list : {"environment.uv", "environment.module"}) {
    const int size = list == std::string_view("environment.uv") ? environment.uv_size()
                                                                : environment.module_size();
    if (IsExplicit(spec, list) && size == 0) {
      add(list, "empty", absl::StrCat(list, " is empty"), "name something, or remove it");
    }
    if (size > limits::kEnvironmentPackages) {
      return add(list, "too_many",
                 absl::StrCat(list, " has ", size, " entries; at most ",
                              limits::kEnvironmentPackages, " are allowed"),
                 "write them into a file of requirements");
    }
  }
  const std::vector<std::string> kinds = KindsOf(environment);
  if (kinds.size() > 1) {
    add("environment", "conflict",
        absl::StrCat("environment has ", absl::StrJoin(kinds, " and "),
                     "; it has one of uv, image, "
                     "conda and module"),
        "keep one");
  }
  CheckFieldsOfUv(environment, kinds, add);
  CheckTexts(environment, add);
  CheckModules(environment, add);
  CheckIndex(environment, add);
  CheckImage(environment, add);
  CheckFile(spec, add);
}

}  // namespace dt::spec::internal
