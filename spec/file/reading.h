// reading.h: collects, while a tree is read, problems with their places, and the places of paths
// for later issues of spec::Validate.
//
// Role:      shared by the readers of the parts of an experiment file. Reading goes on after each
//            problem, and no problem is reported twice.
// Threads:   thread-compatible.
// Tests:     tests/spec/file/experiment_file_test.cc
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "spec/file/diagnostics.h"
#include "spec/file/yaml_tree.h"
#include "spec/spec.h"

namespace dt::spec {

class Reading {
 public:
  explicit Reading(std::vector<YamlProblem> problems) : problems_(std::move(problems)) {}

  void Report(const SourcePosition& mark, std::string path, std::string code, std::string message,
              std::string hint = "");
  // Reports a value that could not be read: Validate's issue about its absence is then not
  // reported.
  void Refuse(const SourcePosition& mark, const std::string& path, spec::Issue issue);
  void RefuseKind(const YamlNode& node, const std::string& path, const std::string& expected,
                  std::string hint = "");
  // Reports nothing more about a path.
  void Silence(const std::string& path) { refused_.insert(path); }
  bool Refused(const std::string& path) const { return refused_.contains(path); }
  // Records that a value of `path` was dropped and a later one takes its place: `at` may be
  // reported again.
  void LeaveOut(const std::string& at, const std::string& path);

  // Reads a field's value, from a scalar or, for lists of numbers, a sequence. Nothing: it is
  // refused.
  std::optional<spec::v1::Value> ReadValue(const spec::Field& field, const YamlNode& node,
                                           const std::string& path);

  // Records where a path stands: its value, or its key where that matters.
  void Place(const std::string& path, const SourcePosition& mark) { marks_[path] = mark; }
  // Returns an issue of Validate at the nearest known place.
  YamlProblem At(spec::Issue issue) const;
  // Adds an issue, unless a refused value explains it.
  void Add(spec::Issue issue);

  std::vector<YamlProblem> TakeProblems() { return std::move(problems_); }

 private:
  std::optional<std::string> ReadList(const spec::Field& field, const YamlNode& node,
                                      const std::string& path);
  bool SaidAlready(const std::string& path) const;
  SourcePosition Nearest(std::string path) const;

  std::vector<YamlProblem> problems_;
  std::map<std::string, SourcePosition> marks_;
  std::set<std::string> refused_;
  std::set<std::string> shortened_;  // parameters that lost a value
};

// Returns "parameters.optimizer.lr[2]".
std::string IndexedPath(const std::string& path, size_t index);

}  // namespace dt::spec
