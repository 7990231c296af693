// absent.cc: replaces cuda_device.cc in a program without CUDA.
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "worker/trainer/device/device.h"

namespace dt::trainer {

absl::StatusOr<std::unique_ptr<Device>> OpenCuda(int index) {
  return ConfigError("--device cuda:" + std::to_string(index) +
                     ": there is no dttrain-cuda beside this dttrain; build it where "
                     "the CUDA libraries are (./dev setup --cuda), and keep the "
                     "two together");
}

void BecomeCudaProgram(char** arguments) {
  std::error_code error;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) execv((own.parent_path() / "dttrain-cuda").c_str(), arguments);
}

}  // namespace dt::trainer
