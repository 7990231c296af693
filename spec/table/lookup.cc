// lookup.cc: the tables, and look-ups in them.
#include <algorithm>
#include <map>
#include <utility>

#include "spec/table/field.h"
#include "spec/table/internal.h"

namespace dt::spec {
namespace {

const Field* FindIn(const std::vector<Field>& table, std::string_view path) {
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const Field& field) { return field.path == path; });
  return found == table.end() ? nullptr : &*found;
}

}  // namespace

const std::vector<Field>& FieldTable() {
  static const auto* table = new std::vector<Field>(internal::MakeFieldTable());
  return *table;
}

const std::vector<Field>& ExperimentFieldTable() {
  static const auto* table = new std::vector<Field>(internal::MakeExperimentFieldTable());
  return *table;
}

const Field* FindField(std::string_view path) {
  static const auto* index = [] {
    auto* map = new std::map<std::string, const Field*, std::less<>>();
    for (const Field& field : FieldTable()) (*map)[field.path] = &field;
    return map;
  }();
  const auto found = index->find(path);
  return found == index->end() ? nullptr : found->second;
}

const Field* FindExperimentField(std::string_view path) {
  return FindIn(ExperimentFieldTable(), path);
}

JsonPlace JsonPlaceOf(const Field& field) {
  const std::string unit = field.type == FieldType::kDuration ? "_seconds" : "";
  const size_t dot = field.path.find('.');
  if (dot == std::string::npos) return {"", field.path + unit};
  std::string name = field.path.substr(dot + 1) + unit;
  std::replace(name.begin(), name.end(), '.', '_');
  return {field.path.substr(0, dot), std::move(name)};
}

const std::vector<std::string>& ReservedPaths() {
  static const auto* paths = new std::vector<std::string>{
      "resources.share",
      "checkpoint.async",
      "checkpoint.export",
      "logging.mlflow",
  };
  return *paths;
}

bool IsReserved(std::string_view path) {
  for (const std::string& reserved : ReservedPaths()) {
    if (path == reserved) return true;
    if (path.size() > reserved.size() && path.substr(0, reserved.size()) == reserved &&
        path[reserved.size()] == '.') {
      return true;
    }
  }
  return false;
}

bool IsSection(std::string_view path) {
  const std::string begin = std::string(path) + ".";
  for (const auto* table : {&ExperimentFieldTable(), &FieldTable()}) {
    for (const Field& field : *table) {
      if (field.path.starts_with(begin)) return true;
    }
  }
  return false;
}

const std::vector<std::string>& TopWords() {
  static const auto* words = [] {
    auto* list = new std::vector<std::string>();
    const auto add = [list](const std::string& path) {
      const std::string word = path.substr(0, path.find('.'));
      if (std::find(list->begin(), list->end(), word) == list->end()) list->push_back(word);
    };
    for (const Field& field : ExperimentFieldTable()) add(field.path);
    add("parameters");
    add("include");
    add("exclude");
    add("seeds");
    for (const Field& field : FieldTable()) add(field.path);
    return list;
  }();
  return *words;
}

}  // namespace dt::spec
