#include "coordinator/notify_flags.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/limits.h"
#include "common/notice_limits.h"
#include "common/status.h"
#include "common/url.h"

namespace dt {
namespace {

absl::Status Refused(const std::string& flag, const std::string& file, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat(flag, " '", file, "': ", why));
}

absl::StatusOr<std::string> OwnUrl(const std::string& file) {
  DT_ASSIGN_OR_RETURN(const std::string text, ReadFile(file, limits::kReceiverUrlBytes));
  std::string line(absl::StripAsciiWhitespace(text));
  const absl::StatusOr<Url> url = ParseUrl(line);
  if (url.ok()) return line;
  return Refused("--notify-url-file", file,
                 absl::StrCat("its address ", std::string(url.status().message())));
}

absl::StatusOr<std::string> Key(const std::string& file) {
  DT_ASSIGN_OR_RETURN(const std::string text, ReadFile(file, limits::kNotifyKeyBytesMax));
  std::string key(absl::StripAsciiWhitespace(text));
  if (key.size() >= limits::kNotifyKeyBytesMin) return key;
  return Refused("--notify-key-file", file,
                 absl::StrCat("its key has ", key.size(), " bytes; give it at least ",
                              limits::kNotifyKeyBytesMin, ", such as by 'openssl rand -hex 32'"));
}

}  // namespace

// Addresses and keys are in files, since everyone on the host can read arguments.
void DescribeNotify(CLI::App& app, NotifyFlags& flags) {
  app.add_option("--notify-to", flags.to,
                 "Hosts that experiments may notify (notify.url): HOST or HOST:PORT with TLS, "
                 "http://HOST without TLS; none unless given")
      ->delimiter(',');
  CLI::Option* own =
      app.add_option("--notify-url-file", flags.url_file,
                     "File with the address of a receiver of notices about every experiment");
  app.add_option("--notify-events", flags.events, "Events in these notices")
      ->delimiter(',')
      ->check(CLI::IsMember(spec::NoticeWords()))
      ->capture_default_str()
      ->needs(own);
  app.add_option(
         "--notify-form", flags.form,
         "Form of these notices: all fields (json), or the form of Slack's webhooks (slack); "
         "unless given, slack at Slack's hosts, else json")
      ->check(CLI::IsMember({"json", "slack"}))
      ->needs(own);
  app.add_option("--notify-key-file", flags.key_file,
                 "File with the key that signs notices; not signed unless given");
  app.add_option(
      "--notify-ca", flags.ca,
      "PEM file of the authorities of receivers' certificates; the system's unless given");
}

absl::StatusOr<SenderOptions> NotifyOf(const NotifyFlags& flags) {
  SenderOptions options;
  options.ca = flags.ca;
  DT_ASSIGN_OR_RETURN(options.receivers, Receivers::Make(flags.to));
  if (!flags.url_file.empty()) {
    DT_ASSIGN_OR_RETURN(*options.own_receiver.mutable_url(), OwnUrl(flags.url_file));
    options.own_receiver.mutable_events()->Assign(flags.events.begin(), flags.events.end());
    options.own_receiver.set_form(flags.form);
  }
  if (!flags.key_file.empty()) {
    DT_ASSIGN_OR_RETURN(options.key, Key(flags.key_file));
  }
  return options;
}

}  // namespace dt
