// flags.h: dtcoord's command line.
//
// Role: the flags that start a coordinator, their texts for --help, and the rules between them.
//       Flags of one part are in files of their own (database_flags.h, notify_flags.h,
//       protection_flags.h).
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "common/net/credentials.h"
#include "coordinator/database_flags.h"
#include "coordinator/notify_flags.h"
#include "coordinator/protection_flags.h"

namespace dt {

struct Flags {
  std::string listen = "127.0.0.1:7600";
  std::string http = "127.0.0.1:7601";
  bool http_clear_text = false;
  std::string state_dir;
  std::string addresses_file;
  size_t metrics_max_trials = 500;
  bool accept_loss = false;
  std::string auth = "none";
  TlsFiles tls;
  DatabaseFlags database;
  NotifyFlags notify;
  ProtectionFlags protection;
};

void DescribeFlags(CLI::App& app, Flags& flags);
// Returns InvalidArgument with the flag and its allowed values.
absl::Status CheckFlags(const Flags& flags);

}  // namespace dt
