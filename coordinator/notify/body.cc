#include "coordinator/notify/body.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "common/url.h"
#include "coordinator/core/model/notice_word.h"
#include "nlohmann/json.hpp"

namespace dt {
namespace {

using nlohmann::ordered_json;

constexpr int kVersion = 1;

std::string TrialName(const v1::Notice& notice) {
  return absl::StrCat(notice.experiment(), "/", notice.trial());
}

std::string ValueText(const v1::Notice& notice) {
  if (!notice.has_value()) return "";
  return absl::StrFormat("%s %.6g", notice.metric(), notice.value());
}

// Returns one line for people to read.
std::string Text(const v1::Notice& notice) {
  const std::string value = ValueText(notice);
  const std::string with_value = value.empty() ? "" : absl::StrCat(": ", value);
  switch (notice.event()) {
    case v1::Notice::FINISHED:
      return absl::StrCat("experiment ", notice.experiment(), " '", notice.name(), "' ended ",
                          notice.state(), " (", notice.message(), ")",
                          notice.trial() == 0
                              ? ""
                              : absl::StrCat("; best is trial ", TrialName(notice), with_value));
    case v1::Notice::FAILED:
      return absl::StrCat("trial ", TrialName(notice), " of '", notice.name(), "' failed (",
                          notice.cause(), ")",
                          notice.message().empty() ? "" : absl::StrCat(": ", notice.message()));
    case v1::Notice::BEST:
      return absl::StrCat("trial ", TrialName(notice), " of '", notice.name(),
                          "' finished and is the best", with_value);
    case v1::Notice::STALLED:
      return absl::StrCat("trial ", TrialName(notice), " of '", notice.name(),
                          "' stalled: ", notice.message());
    case v1::Notice::EVENT_UNSPECIFIED:
    case v1::Notice_Event_Notice_Event_INT_MIN_SENTINEL_DO_NOT_USE_:
    case v1::Notice_Event_Notice_Event_INT_MAX_SENTINEL_DO_NOT_USE_:
      break;
  }
  return "";
}

ordered_json TrialOf(const v1::Notice& notice) {
  ordered_json trial{{"id", TrialName(notice)}};
  if (notice.has_value()) {
    trial["metric"] = notice.metric();
    trial["value"] = notice.value();
  }
  return trial;
}

std::string LookOf(const v1::Notice& notice) {
  return notice.event() == v1::Notice::FINISHED
             ? absl::StrCat("dtctl describe ", notice.experiment())
             : absl::StrCat("dtctl explain ", TrialName(notice));
}

// Names come from users; bytes that are not UTF-8 are replaced.
std::string Dump(const ordered_json& body) {
  return body.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace

std::string NoticeId(JournalId journal, const v1::Notice& notice) {
  return absl::StrFormat("%016x-%d", journal, notice.number());
}

std::string NoticeBody(JournalId journal, const v1::Notice& notice) {
  const bool ended = notice.event() == v1::Notice::FINISHED;
  ordered_json body{
      {"version", kVersion},
      {"id", NoticeId(journal, notice)},
      {"event", WordOf(notice.event())},
      {"time", absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromUnixMillis(notice.wall_ms()),
                                absl::UTCTimeZone())},
      {"text", Text(notice)},
      {"experiment",
       {{"id", absl::StrCat(notice.experiment())},
        {"name", notice.name()},
        {"submitted_by", notice.submitted_by()}}},
      {"state", notice.state()}};
  if (!notice.cause().empty()) body["cause"] = notice.cause();
  if (!notice.message().empty()) body["message"] = notice.message();
  if (notice.trial() > 0) body[ended ? "best" : "trial"] = TrialOf(notice);
  body["look"] = LookOf(notice);
  return Dump(body);
}

bool WantsSlack(const v1::Notice& notice, const std::string& url) {
  if (!notice.form().empty()) return notice.form() == "slack";
  const absl::StatusOr<Url> parsed = ParseUrl(url);
  return parsed.ok() &&
         (parsed->host == "hooks.slack.com" || parsed->host == "hooks.slack-gov.com");
}

// Escapes &, < and >: Slack gives <!channel> and <http://a|b> a meaning. The body has no other
// fields, since Slack's manual does not say how it treats fields it does not know.
std::string SlackBody(const v1::Notice& notice) {
  const std::string text = absl::StrCat(Text(notice), "\n", LookOf(notice));
  return Dump(
      {{"text", absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}})}});
}

}  // namespace dt
