// exposition.h: a strict reader of the Prometheus text format, for tests. It refuses what a scrape
// refuses, and what a scrape takes but misunderstands.
//
// Errors: the first mistake, with its line: a repeated label or series, a family with two HELP or
//         TYPE lines or with one behind its samples, a family in two places, a name or an escape
//         that the format does not have, text that is not UTF-8, a value that is no number.
#pragma once

#include <cctype>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/text.h"

namespace dt::testing {

class Exposition {
 public:
  using Labels = std::map<std::string, std::string>;

  // Returns "" if the text is right, else the first mistake.
  std::string Read(std::string_view text) {
    if (!IsUtf8(text)) return "not UTF-8";
    if (text.empty() || text.back() != '\n') return "no line end at the end";
    while (!text.empty()) {
      const size_t end = text.find('\n');
      const std::string line(text.substr(0, end));
      text.remove_prefix(end + 1);
      const std::string wrong = line.rfind("# ", 0) == 0 ? TakeComment(line) : TakeSample(line);
      if (!wrong.empty()) return absl::StrCat(wrong, ": ", line);
    }
    return "";
  }
  // Returns the labels of every series of a metric.
  const std::multimap<std::string, Labels>& series() const { return series_; }

 private:
  static bool IsName(std::string_view name, bool colon) {
    if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) return false;
    for (const char c : name) {
      const bool good = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
      if (!good && !(colon && c == ':')) return false;
    }
    return true;
  }

  std::string TakeComment(const std::string& line) {
    const std::string kind = line.substr(2, 4);
    if (kind != "HELP" && kind != "TYPE") return "a comment of another kind";
    const size_t end = line.find(' ', 7);
    const std::string name = line.substr(7, end - 7);
    if (!IsName(name, true)) return "a name that is none";
    if (!comments_.insert(absl::StrCat(kind, " ", name)).second) return "said twice";
    if (sampled_.count(name) > 0) return "behind its samples";
    family_ = name;
    return "";
  }

  static std::string FamilyOf(const std::string& name, const std::string& family) {
    for (const char* suffix : {"", "_bucket", "_sum", "_count"}) {
      if (name == absl::StrCat(family, suffix)) return family;
    }
    return name;
  }

  std::string TakeSample(std::string_view line) {
    const std::string all(line);
    const size_t brace = line.find_first_of("{ ");
    if (brace == std::string_view::npos) return "no value";
    const std::string name(line.substr(0, brace));
    if (!IsName(name, true)) return "a name that is none";
    const std::string family = FamilyOf(name, family_);
    if (family != family_) return "not of the family above";
    line.remove_prefix(brace);
    Labels labels;
    if (line[0] == '{') {
      const std::string wrong = TakeLabels(line, labels);
      if (!wrong.empty()) return wrong;
    }
    if (line.empty() || line[0] != ' ') return "no value";
    const std::string value(line.substr(1));
    char* end = nullptr;
    std::strtod(value.c_str(), &end);
    if (value.empty() || *end != '\0') return "a value that is no number";
    std::string key = name;
    for (const auto& [label, text] : labels) absl::StrAppend(&key, "\n", label, "\n", text);
    if (!keys_.insert(key).second) return "a series twice";
    sampled_.insert(family);
    series_.emplace(name, std::move(labels));
    return "";
  }

  static std::string TakeLabels(std::string_view& line, Labels& labels) {
    line.remove_prefix(1);
    while (!line.empty() && line[0] != '}') {
      const size_t equals = line.find('=');
      if (equals == std::string_view::npos) return "a label without a value";
      const std::string name(line.substr(0, equals));
      if (!IsName(name, false) || name.rfind("__", 0) == 0) return "a label's name that is none";
      line.remove_prefix(equals + 1);
      std::string value;
      const std::string wrong = TakeQuoted(line, value);
      if (!wrong.empty()) return wrong;
      if (!labels.emplace(name, value).second) return absl::StrCat("label ", name, " twice");
      if (!line.empty() && line[0] == ',') line.remove_prefix(1);
    }
    if (line.empty()) return "labels without an end";
    line.remove_prefix(1);
    return "";
  }

  static std::string TakeQuoted(std::string_view& line, std::string& value) {
    if (line.empty() || line[0] != '"') return "a value without quotes";
    line.remove_prefix(1);
    while (!line.empty() && line[0] != '"') {
      if (line[0] == '\\') {
        if (line.size() < 2 || std::string_view("\\\"n").find(line[1]) == std::string_view::npos) {
          return "an escape that there is not";
        }
        line.remove_prefix(1);
        value += line[0] == 'n' ? '\n' : line[0];
      } else {
        value += line[0];
      }
      line.remove_prefix(1);
    }
    if (line.empty()) return "a value without an end";
    line.remove_prefix(1);
    return "";
  }

  std::string family_;
  std::set<std::string> comments_, sampled_, keys_;
  std::multimap<std::string, Labels> series_;
};

}  // namespace dt::testing
