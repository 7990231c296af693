// oom.cc: memory.events of this process's own control group.
#include "common/oom.h"

#include <fstream>
#include <optional>
#include <string>

#include "common/control_group.h"

namespace dt {

uint64_t OomKills() {
  const std::optional<std::string> group = OwnControlGroup();
  if (!group) return 0;
  std::ifstream events(*group + "/memory.events");
  std::string name;
  uint64_t count = 0;
  while (events >> name >> count) {
    if (name == "oom_kill") return count;
  }
  return 0;
}

}  // namespace dt
