// lookup.cc: searches PATH, and reads the first bytes of a script.
#include "worker/program/lookup.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "common/text.h"

namespace dt::program {

absl::StatusOr<std::string> FindProgram(const std::string& word, const Environment& environment) {
  if (word.find('/') != std::string::npos) return word;
  const auto path = environment.find("PATH");
  const std::string folders = path == environment.end() ? "/usr/bin:/bin" : path->second;
  for (size_t start = 0; start <= folders.size();) {
    const size_t end = std::min(folders.find(':', start), folders.size());
    const std::string file = folders.substr(start, end - start) + "/" + word;
    struct stat status {};
    if (stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
        access(file.c_str(), X_OK) == 0) {
      return file;
    }
    start = end + 1;
  }
  return ConfigError(absl::StrCat("no program '", word, "' in this worker's PATH, ", folders,
                                  "; install it there, or give its path"));
}

std::string HintAtScript(const std::string& file) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return "";
  std::ifstream script(file, std::ios::binary);
  char bytes[256] = {};
  script.read(bytes, sizeof(bytes) - 1);
  const std::string_view begin(bytes, static_cast<size_t>(script.gcount()));
  if (begin.starts_with("\x7f"
                        "ELF"))
    return "";
  if (!begin.starts_with("#!")) {
    return "; a script's first line names its interpreter, such as #!/bin/sh, or the command does";
  }
  const std::string_view line = begin.substr(2, begin.find('\n') - 2);
  return absl::StrCat("; its first line names the interpreter '", Printable(CleanText(line, 200)),
                      line.ends_with('\r') ? "' and ends with a carriage return: give it Unix's "
                                             "line ends"
                                           : "', which must be on this host");
}

}  // namespace dt::program
