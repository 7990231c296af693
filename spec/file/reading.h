// reading.h: what reading one tree gathers: problems with their places, and where things stand, for
// what spec::Validate finds later.
//
// Role:      shared by the readers of the parts of an experiment file. Reading goes on after each
//            problem, and nothing is said twice.
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

  void Report(const Mark& mark, std::string path, std::string code, std::string message,
              std::string hint = "");
  // A value that could not be read: what Validate says of its absence is not reported again.
  void Refuse(const Mark& mark, const std::string& path, spec::Issue issue);
  void RefuseKind(const YamlNode& node, const std::string& path, const std::string& expected,
                  std::string hint = "");
  // Says nothing more about a path.
  void Silence(const std::string& path) { refused_.insert(path); }
  bool Refused(const std::string& path) const { return refused_.contains(path); }
  // A value of `path` was left out, and a later one takes its place: `at` may be said again.
  void LeaveOut(const std::string& at, const std::string& path);

  // A value of a field, from a scalar or, for lists of numbers, a sequence. Nothing: it is refused.
  std::optional<spec::v1::Value> ReadValue(const spec::Field& field, const YamlNode& node,
                                           const std::string& path);

  // Where a path stands: its value, or its key where that is what matters.
  void Place(const std::string& path, const Mark& mark) { marks_[path] = mark; }
  // An issue of Validate's at the nearest place that is known.
  YamlProblem At(spec::Issue issue) const;
  // Adds it, unless what was refused explains it.
  void Add(spec::Issue issue);

  std::vector<YamlProblem> TakeProblems() { return std::move(problems_); }

 private:
  std::optional<std::string> ReadList(const spec::Field& field, const YamlNode& node,
                                      const std::string& path);
  bool SaidAlready(const std::string& path) const;
  Mark Nearest(std::string path) const;

  std::vector<YamlProblem> problems_;
  std::map<std::string, Mark> marks_;
  std::set<std::string> refused_;
  std::set<std::string> shortened_;  // parameters that lost a value
};

// "parameters.optimizer.lr[2]"
std::string IndexedPath(const std::string& path, size_t index);

}  // namespace dt::spec
