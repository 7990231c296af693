// known_errors.cc: see known_errors.h.
#include "worker/agent/known_errors.h"

#include <algorithm>
#include <array>

namespace dt {
namespace {

struct KnownError {
  std::string_view part;  // of the line
  std::string_view fix;
};

constexpr std::string_view kTooLarge =
    "the device's memory is too small for this trial: reduce the batch or the model, use a lower "
    "precision or recomputation, or ask for more GPUs";
constexpr std::string_view kMissingFile =
    "a relative path begins in the folder that the log's first line names: set code or workdir, or "
    "write an absolute path that exists on the worker";
constexpr std::string_view kSharedMemory =
    "/dev/shm is full or small: use fewer data loader workers, or give the container more "
    "(--shm-size)";
constexpr std::string_view kPermission =
    "the program runs as the worker's user: give that user the right, or write into "
    "DTRAIN_CHECKPOINT_DIR";
constexpr std::string_view kOwnPort =
    "let the program use MASTER_PORT, which is free, and no fixed port";
constexpr std::string_view kPeer =
    "a connection between ranks failed: look for the first rank that ended (dtctl explain), and "
    "set resources.env: {NCCL_DEBUG: INFO} to see the peer; NCCL_SOCKET_IFNAME selects the "
    "network interface";
constexpr std::string_view kNoGpu =
    "the program looks for a GPU that this slot does not have: write resources: {device: cuda}, "
    "or let the program run on a CPU";
constexpr std::string_view kBrokenKernel =
    "set resources.env: {CUDA_LAUNCH_BLOCKING: \"1\"} to see the line at fault; the same error on "
    "one worker only means its GPU: look for Xid in the kernel's log, and drain the worker";

constexpr std::array<std::string_view, 9> kDeviceMemory{"torch.OutOfMemoryError",
                                                        "torch.cuda.OutOfMemoryError",
                                                        "cuda.memory.OutOfMemoryError",
                                                        "CUDA out of memory",
                                                        "HIP out of memory",
                                                        "CUDA error: out of memory",
                                                        "CUBLAS_STATUS_ALLOC_FAILED",
                                                        "RESOURCE_EXHAUSTED: Out of memory",
                                                        "OOM when allocating tensor"};

// The first that fits counts, so narrow ones stand before wide ones.
constexpr std::array kKnown{
    KnownError{"ModuleNotFoundError",
               "install it for the interpreter that the log's first line names, or name another "
               "interpreter in command; a module of your own needs code: {folder: .}"},
    KnownError{"cannot import name",
               "the module is there in another version: check its version "
               "on the worker (pip show)"},
    KnownError{"cannot open shared object file",
               "a library that the program needs is not on the worker: install it there, or set "
               "resources.env: {LD_LIBRARY_PATH: …}"},
    KnownError{"unrecognized arguments",
               "the program does not know this argument: remove the parameter, or name it as the "
               "program does"},
    KnownError{"the following arguments are required",
               "add the argument to command, or make it a parameter"},
    KnownError{"Unable to open shared memory object", kSharedMemory},
    KnownError{"killed by signal: Bus error", kSharedMemory},
    KnownError{"No space left on device",
               "a disk of the worker is full: free space there, or write elsewhere"},
    KnownError{"Too many open files",
               "raise the limit of the worker's service (LimitNOFILE), or open fewer files"},
    KnownError{"failed to exec pid1",
               "the program is not in the image, or may not be executed there"},
    KnownError{"Permission denied", kPermission},
    KnownError{"PermissionError", kPermission},
    KnownError{"FileNotFoundError", kMissingFile},
    KnownError{"No such file or directory", kMissingFile},
    KnownError{"can't open file", kMissingFile},
    KnownError{"command not found",
               "install it on the worker, or write its path; PATH is the worker's"},
    KnownError{"EADDRINUSE", kOwnPort},
    KnownError{"Address already in use", kOwnPort},
    KnownError{"no kernel image is available",
               "this build of the framework does not support the GPU: install one for its compute "
               "capability"},
    KnownError{"driver version is insufficient",
               "the worker's driver is older than the framework's CUDA: update the driver, or "
               "install a framework for an older CUDA"},
    KnownError{"Found no NVIDIA driver", kNoGpu},
    KnownError{"no CUDA-capable device", kNoGpu},
    KnownError{"No CUDA GPUs are available", kNoGpu},
    KnownError{"Torch not compiled with CUDA enabled",
               "the worker's torch is a build for CPUs: install one with CUDA"},
    KnownError{"device-side assert",
               "an index is out of range in most cases, such as a label or a token beyond the "
               "vocabulary; set resources.env: {CUDA_LAUNCH_BLOCKING: \"1\"} to see the line"},
    KnownError{"uncorrectable ECC error",
               "the GPU is faulty: drain the worker, and reset or replace the GPU"},
    KnownError{"NCCL error", kPeer},
    KnownError{"DistBackendError", kPeer},
    KnownError{"DistNetworkError", kPeer},
    KnownError{"ncclRemoteError", kPeer},
    KnownError{"ncclSystemError", kPeer},
    KnownError{"NCCL communicator", kPeer},
    KnownError{"gloo/transport", kPeer},
    KnownError{"TCPStore", kPeer},
    KnownError{"CUDA error", kBrokenKernel},
    KnownError{"MemoryError",
               "the host's memory is too small for this trial: load less at once, use fewer data "
               "loader workers, or ask for fewer slots per host"},
    KnownError{"DefaultCPUAllocator: can't allocate memory",
               "the host's memory is too small for this trial: reduce the batch or the model"},
};

bool Has(std::string_view line, std::string_view part) {
  return line.find(part) != std::string_view::npos;
}

}  // namespace

bool SaysDeviceMemoryIsFull(std::string_view error) {
  return std::any_of(kDeviceMemory.begin(), kDeviceMemory.end(),
                     [error](std::string_view part) { return Has(error, part); });
}

std::string_view FixFor(std::string_view error) {
  if (SaysDeviceMemoryIsFull(error)) return kTooLarge;
  const auto known = std::find_if(kKnown.begin(), kKnown.end(),
                                  [error](const KnownError& one) { return Has(error, one.part); });
  return known == kKnown.end() ? std::string_view() : known->fix;
}

}  // namespace dt
