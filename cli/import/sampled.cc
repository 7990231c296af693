// sampled.cc: distributions that another tool writes as a call: tune.loguniform(1e-4, 1e-1),
// interval(0, 1), choice(2, 4).
#include "cli/import/sampled.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace dt::cli {
namespace {

using Kind = YamlNode::Kind;

std::string Trimmed(const std::string& text) {
  return std::string(absl::StripAsciiWhitespace(text));
}

YamlNode Scalar(std::string text) {
  YamlNode node;
  node.kind = Kind::kScalar;
  const bool quoted = text.size() >= 2 && (text.front() == '\'' || text.front() == '"') &&
                      text.back() == text.front();
  if (quoted) {
    text = text.substr(1, text.size() - 2);
    node.quoting = spec::Quoting::kQuoted;
  }
  node.text = std::move(text);
  return node;
}

}  // namespace

std::vector<std::string> SplitOutside(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (c == ')' || c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      parts.emplace_back();
      continue;
    }
    parts.back() += c;
  }
  for (std::string& part : parts) part = Trimmed(part);
  if (parts.size() == 1 && parts[0].empty()) parts.clear();
  return parts;
}

std::optional<Call> CallIn(const std::string& text) {
  const std::string trimmed = Trimmed(text);
  const size_t open = trimmed.find('(');
  if (open == std::string::npos || open == 0 || trimmed.back() != ')') return std::nullopt;
  Call call;
  std::string name = trimmed.substr(0, open);
  if (const size_t dot = name.rfind('.'); dot != std::string::npos) name.erase(0, dot + 1);
  call.name = absl::AsciiStrToLower(name);
  const bool word = std::all_of(call.name.begin(), call.name.end(),
                                [](unsigned char c) { return absl::ascii_isalnum(c) || c == '_'; });
  if (!word) return std::nullopt;
  for (std::string& part : SplitOutside(trimmed.substr(open + 1, trimmed.size() - open - 2))) {
    const size_t equals = part.find('=');
    const bool named = equals != std::string::npos && part.find_first_of("([{'\"") > equals;
    if (named) {
      call.named[Trimmed(part.substr(0, equals))] = Trimmed(part.substr(equals + 1));
    } else {
      call.arguments.push_back(std::move(part));
    }
  }
  return call;
}

std::optional<double> Call::Number(size_t place, const std::string& argument,
                                   std::optional<double> otherwise) const {
  if (const auto found = named.find(argument); found != named.end()) {
    return NumberIn(found->second);
  }
  return place < arguments.size() ? NumberIn(arguments[place]) : otherwise;
}

YamlNode ListNode(const std::vector<std::string>& texts) {
  YamlNode list;
  list.kind = Kind::kSequence;
  for (const std::string& text : texts) list.items.push_back(Scalar(text));
  return list;
}

std::optional<double> NumberIn(const std::string& text) {
  const YamlNode node = Scalar(text);
  return NumberOf(&node);
}

Domain Stepped(Domain domain, double step) {
  if (!domain.min || !(step > 0)) return domain;
  if (domain.centre) {
    domain.step = step;
    domain.integer = step == std::floor(step);
    if (domain.cut) {
      domain.min = std::ceil(*domain.min / step) * step;
      domain.max = *domain.min + std::floor((*domain.max - *domain.min) / step) * step;
    }
    return domain;
  }
  const auto whole = [](double number) { return number == std::floor(number); };
  if (domain.log && whole(step)) {
    // The values are integers there, so a script reads them as integers.
    const double least = std::round(*domain.min), most = std::round(*domain.max);
    if (least >= 1 && least < most && most < 9e15)
      std::tie(domain.min, domain.max) = std::pair(least, most);
  }
  domain.integer = domain.integer || (whole(*domain.min) && whole(*domain.max) && whole(step));
  if (domain.log) {
    if (domain.integer && step == 1) return domain;
    absl::StrAppend(&domain.comment, domain.comment.empty() ? "" : "; ", "rounded to ",
                    spec::NumberText(step), " there");
    return domain;
  }
  if (step < *domain.max - *domain.min) domain.step = step;
  return domain;
}

}  // namespace dt::cli
