// absent.cc: replaces cuda_device.cc in a program without CUDA.
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "worker/starter/install_form.h"
#include "worker/trainer/device/device.h"

namespace dt::trainer {

namespace {

// Returns the path of this program with -cuda behind it: dttrain-2.11 becomes dttrain-2.11-cuda.
std::filesystem::path CudaProgram() {
  std::error_code error;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "dttrain-cuda" : own.string() + "-cuda";
}

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> OpenCuda(int index) {
  const std::filesystem::path wanted = CudaProgram();
  return ConfigError("--device cuda:" + std::to_string(index) + ": there is no " +
                     wanted.filename().string() + " beside this program; " +
                     CudaFix(FactsOf(wanted.string())));
}

void BecomeCudaProgram(char** arguments) { execv(CudaProgram().c_str(), arguments); }

}  // namespace dt::trainer
