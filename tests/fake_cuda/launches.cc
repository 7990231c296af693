// launches.cc: the kernels and their launches.
#include <algorithm>
#include <deque>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "tests/fake_cuda/state.h"

namespace dt::fake_cuda {
namespace {

constexpr size_t kThreadsMax = 1024;

struct Kernels {
  std::mutex mutex;
  std::unordered_map<const void*, std::string> names;
  std::deque<std::string> loaded;  // from libraries; a kernel's handle is its name's address
};

Kernels& TheKernels() {
  static Kernels& kernels = *new Kernels;
  return kernels;
}

std::string NameOf(const void* kernel) {
  Kernels& kernels = TheKernels();
  std::lock_guard lock(kernels.mutex);
  const auto it = kernels.names.find(kernel);
  return it == kernels.names.end() ? "a kernel that was not registered" : it->second;
}

struct Configuration {
  dim3 grid, block;
  size_t shared = 0;
  cudaStream_t stream = nullptr;
};
thread_local std::vector<Configuration> t_configurations;

cudaError_t Launch(const void* kernel, const Configuration& c, void** arguments) {
  Stream& stream = StreamOf(c.stream);
  const std::string name = NameOf(kernel);
  if (Capturing() > 0 && !stream.capturing) NoteFault(name + " beside a capture");
  const size_t threads = size_t{c.block.x} * c.block.y * c.block.z;
  const bool fits = threads > 0 && threads <= kThreadsMax && c.shared <= kSharedBytesMax;
  if (!fits || c.grid.x == 0 || c.grid.y == 0 || c.grid.z == 0 || c.grid.y > 65535 ||
      c.grid.z > 65535) {
    NoteFault(name + " of a size that cannot be launched");
    return Fail(cudaErrorInvalidConfiguration);
  }
  Note({Kind::kLaunch, name, 0, stream.id, false});
  stream.now += kKernelSeconds;
  if (!TheMachine().computes) {
    LeaveZeros();
  } else if (!RunKernel(name.c_str(), c.grid, arguments)) {
    NoteFault(name + " is not computed");
    return Fail(cudaErrorNoKernelImageForDevice);
  }
  return cudaSuccess;
}

}  // namespace

// ---- functions that nvcc's code calls ----
DT_FAKE void** __cudaRegisterFatBinary(void* binary) { return static_cast<void**>(binary); }
DT_FAKE void __cudaRegisterFatBinaryEnd(void**) {}
DT_FAKE void __cudaUnregisterFatBinary(void**) {}
DT_FAKE void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}

DT_FAKE void __cudaRegisterFunction(void**, const char* host, char*, const char* name, int, uint3*,
                                    uint3*, dim3*, dim3*, int*) {
  Kernels& kernels = TheKernels();
  std::lock_guard lock(kernels.mutex);
  kernels.names[host] = name;
}

DT_FAKE unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
                                             cudaStream_t stream) {
  t_configurations.push_back({grid, block, shared, stream});
  return 0;
}

DT_FAKE cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared,
                                               void* stream) {
  const Configuration c = t_configurations.back();
  t_configurations.pop_back();
  *grid = c.grid;
  *block = c.block;
  *shared = c.shared;
  *static_cast<cudaStream_t*>(stream) = c.stream;
  return cudaSuccess;
}

DT_FAKE cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host) {
  *kernel = static_cast<cudaKernel_t>(const_cast<void*>(host));
  return cudaSuccess;
}

DT_FAKE cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                       size_t shared, cudaStream_t stream) {
  return Launch(kernel, {grid, block, shared, stream}, arguments);
}

// ---- functions that programs call ----
DT_FAKE cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                     size_t shared, cudaStream_t stream) {
  return Launch(kernel, {grid, block, shared, stream}, arguments);
}

DT_FAKE cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* c, const void* kernel,
                                        void** arguments) {
  return Launch(kernel, {c->gridDim, c->blockDim, c->dynamicSmemBytes, c->stream}, arguments);
}

DT_FAKE cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption*,
                                        void**, unsigned, cudaLibraryOption*, void**, unsigned) {
  TouchDevice(CurrentDevice());
  if (!TheMachine().takes_ptx) return Fail(cudaErrorUnsupportedPtxVersion);
  *library = static_cast<cudaLibrary_t>(const_cast<void*>(code));
  return cudaSuccess;
}

DT_FAKE cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t, const char* name) {
  Kernels& kernels = TheKernels();
  std::lock_guard lock(kernels.mutex);
  std::string& handle = kernels.loaded.emplace_back(name);
  kernels.names[&handle] = name;
  *kernel = reinterpret_cast<cudaKernel_t>(&handle);
  return cudaSuccess;
}

DT_FAKE cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  *attributes = {};
  attributes->maxThreadsPerBlock = kThreadsMax;
  attributes->numRegs = 32;
  attributes->ptxVersion = attributes->binaryVersion = 90;
  attributes->maxDynamicSharedSizeBytes = kSharedBytesMax;
  return cudaSuccess;
}

DT_FAKE cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) {
  return cudaSuccess;
}

DT_FAKE cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*,
                                                                           int threads, size_t,
                                                                           unsigned) {
  *blocks = std::max(1, 2048 / std::max(threads, 1));
  return cudaSuccess;
}

}  // namespace dt::fake_cuda
