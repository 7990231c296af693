#include "coordinator/protection_flags.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/limits.h"
#include "common/status.h"

namespace dt {
namespace {

// Refuses less than a second: the core would do nothing but choose gangs to move.
absl::StatusOr<absl::Duration> Read(const char* flag, const std::string& text) {
  absl::Duration duration;
  if (absl::ParseDuration(text, &duration) && duration >= absl::Seconds(1) &&
      duration <= limits::kProtectMost) {
    return duration;
  }
  return absl::InvalidArgumentError(
      absl::StrCat(flag, " '", text, "' is not a time from 1s to 1h; write it as 30s or 10m"));
}

}  // namespace

void DescribeProtection(CLI::App& app, ProtectionFlags& flags) {
  app.add_option(
         "--protect", flags.protect,
         "Time for which a trial that has begun to train is not stopped for a higher priority "
         "and does not grow; doubles after each stop, up to an hour")
      ->capture_default_str();
  app.add_option("--grow-after", flags.grow_after,
                 "Time that slots must be idle before an elastic trial grows onto them")
      ->capture_default_str();
  app.add_option("--resize-every", flags.resize_every,
                 "Time for which an elastic trial does not grow again after it changed its size")
      ->capture_default_str();
}

absl::StatusOr<GangProtection> ProtectionOf(const ProtectionFlags& flags) {
  GangProtection protection;
  DT_ASSIGN_OR_RETURN(protection.protect, Read("--protect", flags.protect));
  DT_ASSIGN_OR_RETURN(protection.grow_after, Read("--grow-after", flags.grow_after));
  DT_ASSIGN_OR_RETURN(protection.resize_every, Read("--resize-every", flags.resize_every));
  return protection;
}

}  // namespace dt
