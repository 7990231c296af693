// notify_flags.h: dtcoord's flags on notices (docs/guides/notify.md).
//
// Errors: InvalidArgument names the flag, its value, and what is right.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/notify/sender.h"
#include "spec/notify.h"

namespace dt {

struct NotifyFlags {
  std::vector<std::string> to;
  std::string url_file;
  std::vector<std::string> events = spec::NoticeWords();  // of --notify-url-file's receiver
  std::string form;                                       // the form for it; "": chosen by its host
  std::string key_file;
  std::string ca;
};

void DescribeNotify(CLI::App& app, NotifyFlags& flags);
// Reads the files that the flags name.
absl::StatusOr<SenderOptions> NotifyOf(const NotifyFlags& flags);

}  // namespace dt
