// fake_tools.h: shell scripts in the place of tools, which note their arguments.
//
// Ownership: a folder with the scripts, the only one of PATH besides the system's.
#pragma once

#include <filesystem>
#include <string>

#include "common/spawn.h"
#include "tests/testing/temp_folder.h"

namespace dt::testing {

class FakeTools {
 public:
  // Puts a script there, which first notes its arguments, a line each call. Returns its path.
  std::string Put(const std::string& name, const std::string& script) const {
    const std::string path =
        folder_.Write("bin/" + name, "#!/bin/sh\necho \"" + name + " $*\" >> " +
                                         (folder_ / "calls") + "\n" + script + "\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  // Returns the calls until now, and forgets them.
  std::string TakeCalls() const {
    const std::string calls = Slurp(folder_ / "calls");
    std::filesystem::remove(folder_ / "calls");
    return calls;
  }
  Environment Variables() const {
    return {{"PATH", (folder_ / "bin") + ":/usr/bin:/bin"}, {"HOME", folder_.path()}};
  }
  std::string operator/(const std::string& name) const { return folder_ / name; }
  const TempFolder& folder() const { return folder_; }

 private:
  TempFolder folder_;
};

}  // namespace dt::testing
