// several.cc: see several.h.
#include "spec/file/several.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace dt::spec {
namespace {

using Kind = YamlNode::Kind;

struct Pair {
  std::string_view one, several;
  const char* example;  // of several
};
constexpr Pair kPairs[] = {{"search.metric", "search.metrics", "[val_loss, latency_ms]"},
                           {"search.goal", "search.goals", "[minimize, maximize]"},
                           {"seed", "seeds", "[1, 2, 3]"}};

// Longer values are replaced by an example, so that a hint stays readable.
constexpr size_t kShownBytes = 40;
constexpr size_t kShownItems = 4;

absl::string_view NameIn(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('.') + 1);
  return {name.data(), name.size()};
}

bool IsPlain(const YamlNode& node) {
  return node.kind == Kind::kScalar && !node.text.empty() && node.text.size() <= kShownBytes &&
         node.text.find_first_of("{}[],:#'\"\n") == std::string::npos;
}

}  // namespace

std::string HintAtSeveral(std::string_view path, const YamlNode& list) {
  const auto* const pair = std::find_if(std::begin(kPairs), std::end(kPairs),
                                        [path](const Pair& one) { return one.one == path; });
  if (pair == std::end(kPairs)) return "";
  const bool plain = !list.items.empty() && list.items.size() <= kShownItems &&
                     std::all_of(list.items.begin(), list.items.end(), IsPlain);
  if (plain && list.items.size() == 1) {
    return absl::StrCat("write ", NameIn(path), ": ", list.items[0].text);
  }
  std::vector<std::string> texts;
  for (const YamlNode& item : list.items) texts.push_back(item.text);
  return absl::StrCat("several: ", std::string(pair->several), ", such as ", NameIn(pair->several),
                      ": ",
                      plain ? absl::StrCat("[", absl::StrJoin(texts, ", "), "]") : pair->example);
}

std::string HintAtOne(std::string_view path, const YamlNode& value) {
  const auto* const pair = std::find_if(std::begin(kPairs), std::end(kPairs),
                                        [path](const Pair& one) { return one.several == path; });
  if (pair == std::end(kPairs) || !IsPlain(value)) return "";
  return absl::StrCat("write ", NameIn(pair->one), ": ", value.text, ", or several: ", NameIn(path),
                      ": ", pair->example);
}

}  // namespace dt::spec
