#include "spec/notify.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/notice_limits.h"
#include "common/url.h"
#include "spec/internal.h"

namespace dt::spec {

const std::vector<std::string>& NoticeWords() {
  static const auto& words = *new std::vector<std::string>{"finished", "failed", "stalled", "best"};
  return words;
}

bool AsksFor(const v1::Notify& notify, std::string_view word) {
  if (notify.url().empty()) return false;
  if (notify.events().empty()) return word != "best";
  return std::find(notify.events().begin(), notify.events().end(), word) != notify.events().end();
}

std::string NoticeText(const v1::Notify& notify) {
  std::vector<std::string> asked;
  for (const std::string& word : NoticeWords()) {
    if (AsksFor(notify, word)) asked.push_back(word);
  }
  return absl::StrJoin(asked, ", ");
}

// No message contains the address: it may hold a secret.
void internal::CheckNotify(const v1::ExperimentSpec& spec, std::vector<Issue>& issues) {
  const v1::Notify& notify = spec.notify();
  const std::string& url = notify.url();
  if (url.empty()) {
    if (!notify.events().empty() || !notify.form().empty()) {
      issues.push_back({"notify.url", "missing", "notify.url is missing",
                        "give the receiver's address, or remove notify"});
    }
  } else if (url.size() > limits::kReceiverUrlBytes) {
    issues.push_back({"notify.url", "too_large",
                      absl::StrCat("notify.url has ", url.size(), " bytes; at most ",
                                   limits::kReceiverUrlBytes, " are allowed"),
                      ""});
  } else if (const auto parsed = ParseUrl(url); !parsed.ok()) {
    issues.push_back({"notify.url", "bad_url",
                      absl::StrCat("notify.url ", std::string(parsed.status().message())),
                      "write it as https://HOST/PATH"});
  }
  if (notify.events_size() > static_cast<int>(NoticeWords().size())) {
    issues.push_back({"notify.events", "too_many",
                      absl::StrCat("notify.events has ", notify.events_size(), " words; there are ",
                                   NoticeWords().size()),
                      "name each once"});
    return;
  }
  std::set<std::string> seen;
  for (int i = 0; i < notify.events_size(); ++i) {
    const std::string& word = notify.events(i);
    const std::string path = absl::StrCat("notify.events[", i, "]");
    const auto& words = NoticeWords();
    if (std::find(words.begin(), words.end(), word) == words.end()) {
      issues.push_back({path, "unknown_word",
                        absl::StrCat(path, " is ", Quote(word),
                                     "; it must be one of: ", absl::StrJoin(words, ", ")),
                        ""});
    } else if (!seen.insert(word).second) {
      issues.push_back(
          {path, "duplicate", absl::StrCat("notify.events names ", word, " twice"), "remove one"});
    }
  }
}

}  // namespace dt::spec
