#include "cli/commands/caller.h"

#include <pwd.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <random>

#include "absl/strings/str_format.h"
#include "common/limits.h"
#include "common/text.h"

namespace dt::cli {

std::string WhoAmI(Session& session) {
  std::string named = CleanText(session.terminal().environment("USER"), limits::kWhoBytes);
  if (!named.empty()) return named;
  // In containers and under service managers USER is not set.
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 1 << 14> names{};
  if (getpwuid_r(geteuid(), &entry, names.data(), names.size(), &found) != 0) return "";
  return found == nullptr ? "" : CleanText(found->pw_name, limits::kWhoBytes);
}

std::string RandomRequestId() {
  std::random_device source;
  return absl::StrFormat("%08x%08x%08x%08x", source(), source(), source(), source());
}

int UsableCores() {
  cpu_set_t cores;
  return sched_getaffinity(0, sizeof cores, &cores) == 0 ? std::max(1, CPU_COUNT(&cores)) : 1;
}

}  // namespace dt::cli
