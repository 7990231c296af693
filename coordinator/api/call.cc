#include "coordinator/api/call.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "api/json.h"
#include "common/api_limits.h"
#include "common/limits.h"
#include "common/status.h"
#include "common/text.h"
#include "coordinator/api/quoted.h"

namespace dt {
namespace {

absl::Status Refused(const std::string& option, const std::string& value, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(option, " is ", Quoted(value), "; it is ", what));
}

std::optional<int> HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

// Decodes %41 and + in a query; leaves an invalid escape as it is.
std::string Decoded(absl::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      const auto high = HexDigit(text[i + 1]);
      const auto low = HexDigit(text[i + 2]);
      if (high && low) {
        decoded += static_cast<char>(*high * 16 + *low);
        i += 2;
        continue;
      }
    }
    decoded += text[i] == '+' ? ' ' : text[i];
  }
  return decoded;
}

// Reads an integer from `least` to `most`.
template <typename Number>
absl::Status ReadNumber(const std::string& option, const std::string& value, uint64_t least,
                        uint64_t most, Number& number) {
  uint64_t read = 0;
  if (!absl::SimpleAtoi(value, &read) || read < least || read > most) {
    return Refused(option, value, absl::StrCat("an integer from ", least, " to ", most));
  }
  number = static_cast<Number>(read);
  return absl::OkStatus();
}

absl::Status ReadLabel(const std::string& value, ApiCall& call) {
  const size_t equals = value.find('=');
  if (equals == 0 || equals == std::string::npos) {
    return Refused("label", value, "written key=value");
  }
  v1::Label& label = call.labels.emplace_back();
  label.set_key(value.substr(0, equals));
  label.set_value(value.substr(equals + 1));
  return absl::OkStatus();
}

absl::Status ReadState(const std::string& value, ApiCall& call) {
  call.states.push_back(api::TrialStateFromWord(value));
  if (call.states.back() != v1::TRIAL_STATE_UNSPECIFIED) return absl::OkStatus();
  return Refused("state", value,
                 "one of pending, starting, running, stopping, finished, failed, cancelled");
}

absl::Status ReadTrials(const std::string& value, ApiCall& call) {
  for (absl::string_view part : absl::StrSplit(value, ',')) {
    uint32_t trial = 0;
    DT_RETURN_IF_ERROR(
        ReadNumber("trial", std::string(part), 1, limits::kTrialsPerExperiment, trial));
    call.trials.push_back(trial);
  }
  std::sort(call.trials.begin(), call.trials.end());
  call.trials.erase(std::unique(call.trials.begin(), call.trials.end()), call.trials.end());
  if (call.trials.size() <= limits::kApiTrials) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the call names ", call.trials.size(),
                                                 " trials; one answer has at most ",
                                                 limits::kApiTrials, "; ask several times"));
}

absl::Status ReadMetrics(const std::string& value, ApiCall& call) {
  for (absl::string_view part : absl::StrSplit(value, ',')) {
    std::string name(part);
    if (name.empty() || name.size() > limits::kMetricNameBytes) {
      return Refused("metric", name,
                     absl::StrCat("a name of 1 to ", limits::kMetricNameBytes, " bytes"));
    }
    const auto& had = call.metrics;
    if (std::find(had.begin(), had.end(), name) == had.end()) {
      call.metrics.push_back(std::move(name));
    }
  }
  if (call.metrics.size() <= limits::kApiMetrics) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the call names ", call.metrics.size(),
                                                 " metrics; one answer has at most ",
                                                 limits::kApiMetrics, "; ask several times"));
}

absl::Status ReadSince(const std::string& value, ApiCall& call) {
  absl::Time time;
  std::string error;
  if (!absl::ParseTime(absl::RFC3339_full, value, &time, &error)) {
    return Refused("since", value, "a time such as 2025-11-21T07:40:12Z");
  }
  call.since_wall_ms = absl::ToUnixMillis(time);
  return absl::OkStatus();
}

absl::Status ReadOption(const std::string& name, const std::string& value, ApiCall& call) {
  if (name == "page_token") {
    if (value.size() > limits::kNameBytes)
      return Refused(name, value, "a next_page_token of an earlier page");
    call.page_token = value;
    return absl::OkStatus();
  }
  if (name == "page_size") {
    return ReadNumber(name, value, 1, limits::kApiPageMax, call.page_size);
  }
  if (name == "label") return ReadLabel(value, call);
  if (name == "archived") {
    call.archived = value == "true";
    return value == "true" || value == "false" ? absl::OkStatus()
                                               : Refused(name, value, "true or false");
  }
  if (name == "state") return ReadState(value, call);
  if (name == "trial") return ReadTrials(value, call);
  if (name == "metric") return ReadMetrics(value, call);
  if (name == "points") return ReadNumber(name, value, 2, limits::kApiPointsMax, call.points);
  if (name == "rank") {
    return ReadNumber(name, value, 0, static_cast<uint64_t>(limits::kWorldSizeMax), call.rank);
  }
  if (name == "tail") return ReadNumber(name, value, 1, limits::kApiLogLinesMax, call.tail);
  if (name == "since") return ReadSince(value, call);
  if (name == "format") {
    call.format = value;
    return value == "html" || value == "md" || value == "csv"
               ? absl::OkStatus()
               : Refused(name, value, "one of html, md, csv");
  }
  if (value.size() > limits::kNameBytes) {
    return Refused(name, value, absl::StrCat("a text of at most ", limits::kNameBytes, " bytes"));
  }
  call.grep = value;
  return absl::OkStatus();
}

using Pieces = std::vector<std::string>;

// Returns whether the path belongs to this route.
bool Matches(const Pieces& pattern, const Pieces& sent) {
  if (pattern.size() != sent.size()) return false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i][0] != '{' && pattern[i] != sent[i]) return false;
  }
  return true;
}

Pieces PiecesOf(absl::string_view path) { return absl::StrSplit(path, '/', absl::SkipEmpty()); }

const char* MethodWord(HttpMethod http) { return http == HttpMethod::kPost ? "POST" : "GET"; }

absl::StatusOr<const ApiRoute*> FindRoute(const std::vector<ApiRoute>& routes,
                                          const std::string& path, HttpMethod http) {
  const Pieces sent = PiecesOf(path);
  const ApiRoute* other = nullptr;
  for (const ApiRoute& route : routes) {
    if (!Matches(PiecesOf(route.path), sent)) continue;
    if (route.http == http) return &route;
    other = &route;
  }
  if (other != nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(other->path, " takes ", MethodWord(other->http), ", not ", MethodWord(http)));
  }
  return absl::NotFoundError(
      absl::StrCat("there is no ", Quoted(path), "; the calls are ",
                   absl::StrJoin(routes, ", ", [](std::string* out, const ApiRoute& one) {
                     absl::StrAppend(out, MethodWord(one.http), " ", one.path);
                   })));
}

// Returns whether an option may be repeated. A repeated option of another name would be ambiguous.
bool MayRepeat(absl::string_view option) { return option == "label" || option == "state"; }

absl::Status ReadOptions(const ApiRoute& route, absl::string_view query, ApiCall& call) {
  const std::vector<const char*> takes =
      route.http == HttpMethod::kGet ? route.options : std::vector<const char*>();
  std::set<std::string> had;
  for (absl::string_view pair : absl::StrSplit(query, '&', absl::SkipEmpty())) {
    const size_t equals = std::min(pair.find('='), pair.size());
    const std::string name = Decoded(pair.substr(0, equals));
    if (std::find(takes.begin(), takes.end(), name) == takes.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("there is no option ", Quoted(name), " of ", route.path,
                       takes.empty() ? "; it takes none"
                                     : absl::StrCat("; it takes ", absl::StrJoin(takes, ", "))));
    }
    if (!had.insert(name).second && !MayRepeat(name)) {
      return absl::InvalidArgumentError(absl::StrCat(
          name, " is given twice; give it once",
          name == "trial" || name == "metric" ? " with its values separated by commas" : ""));
    }
    DT_RETURN_IF_ERROR(
        ReadOption(name, Decoded(pair.substr(std::min(equals + 1, pair.size()))), call));
  }
  return absl::OkStatus();
}

absl::Status ReadPlaces(const ApiRoute& route, const Pieces& sent, ApiCall& call) {
  const Pieces pattern = PiecesOf(route.path);
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == "{experiment}" && sent[i] == "last") {
      call.last = true;
    } else if (pattern[i] == "{experiment}") {
      if (!absl::SimpleAtoi(sent[i], &call.experiment) || call.experiment == 0) {
        return Refused("the experiment", sent[i], "a number from 1, or last");
      }
    } else if (pattern[i] == "{trial}") {
      DT_RETURN_IF_ERROR(
          ReadNumber("the trial", sent[i], 1, limits::kTrialsPerExperiment, call.trial));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckPoints(const ApiCall& call) {
  const size_t points = call.trials.size() * call.metrics.size() * call.points;
  if (points <= limits::kApiPointsTotal) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the call is for ", call.trials.size(), " trials x ", call.metrics.size(),
                   " metrics x ", call.points, " points; one answer has at most ",
                   limits::kApiPointsTotal, " points: ask for fewer points, or several times"));
}

}  // namespace

absl::Status CheckCurves(ApiCall& call) {
  if (call.trials.empty()) {
    return absl::InvalidArgumentError("curves need trials: name some, such as trial=1,2");
  }
  if (call.metrics.empty()) call.metrics = {"loss"};
  return CheckPoints(call);
}

absl::StatusOr<ApiCall> ReadCallOf(const std::vector<ApiRoute>& routes, std::string_view path,
                                   std::string_view query, HttpMethod http) {
  DT_ASSIGN_OR_RETURN(const ApiRoute* route, FindRoute(routes, std::string(path), http));
  ApiCall call;
  call.route = route;
  call.points = limits::kApiPointsDefault;
  call.tail = limits::kApiLogLinesDefault;
  DT_RETURN_IF_ERROR(ReadPlaces(*route, PiecesOf({path.data(), path.size()}), call));
  DT_RETURN_IF_ERROR(ReadOptions(*route, {query.data(), query.size()}, call));
  if (route->check != nullptr) DT_RETURN_IF_ERROR(route->check(call));
  return call;
}

}  // namespace dt
