// python_with.h: a Python that imports what a test's program needs, from the caches of ./dev setup.
//
// Errors: none; a test without one is skipped.
#pragma once

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/spawn.h"
#include "tests/testing/child_process.h"

namespace dt {

// A Python that can import `module`, and the environment variables that this needs.
struct Python {
  std::string path;
  std::map<std::string, std::string> env;
};
inline std::optional<Python> PythonWith(const std::string& module) {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  const std::string cache = variable("XDG_CACHE_HOME").empty() ? variable("HOME") + "/.cache"
                                                               : variable("XDG_CACHE_HOME");
  const std::string sklearn = cache + "/dtrain/sklearn-wheels";
  const std::string bench = cache + "/dtrain/bench-python";
  const std::string wheels =
      cache + "/dtrain/bench-torch-2.11.0:" + cache + "/dtrain/program-wheels:" + sklearn;
  // The second is made by `./dev setup`, the third by `./dev setup --programs`.
  for (Python python :
       {Python{"/usr/bin/env", {}},
        Python{cache + "/dtrain/python-client/bin/python", {{"PYTHONPATH", sklearn}}},
        Python{bench + "/bin/python",
               {{"PYTHONPATH", wheels}, {"LD_LIBRARY_PATH", bench + "/stand-ins"}}}}) {
    std::vector<std::string> words = {"-c", "import " + module};
    if (python.path == "/usr/bin/env") words.insert(words.begin(), "python3");
    if (!std::filesystem::exists(python.path)) continue;
    testing::ChildProcess tried({.path = python.path,
                                 .arguments = words,
                                 .environment = EnvironmentWith(python.env),
                                 .log = "/dev/null"});
    if (tried.AwaitExit(std::chrono::minutes(2)) != 0) continue;
    if (python.path == "/usr/bin/env") python.path = "python3";
    return python;
  }
  return std::nullopt;
}

inline constexpr char kMakesOne[] = "./dev setup --programs makes one";

}  // namespace dt
