// program_variables.h: the environment variables that tell a program its rank and its trial. An
// experiment may not set them.
#pragma once

#include <array>
#include <string_view>

namespace dt {

inline constexpr std::array<std::string_view, 9> kVariablesOfWorker{
    "RANK",        "LOCAL_RANK",  "WORLD_SIZE", "LOCAL_WORLD_SIZE",    "NODE_RANK",
    "MASTER_ADDR", "MASTER_PORT", "GROUP_RANK", "CUDA_VISIBLE_DEVICES"};
// And all that begin so.
inline constexpr std::array<std::string_view, 2> kVariablePrefixesOfWorker{"DTRAIN_",
                                                                           "TORCHELASTIC_"};

inline constexpr bool IsVariableOfWorker(std::string_view name) {
  for (const std::string_view own : kVariablesOfWorker) {
    if (name == own) return true;
  }
  for (const std::string_view prefix : kVariablePrefixesOfWorker) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

}  // namespace dt
