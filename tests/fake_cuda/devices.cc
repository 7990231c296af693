// devices.cc: the devices and their abilities (those of an H100), errors, the driver.
#include <cuda.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "tests/fake_cuda/state.h"

namespace dt::fake_cuda {
namespace {

thread_local int t_device = 0;
thread_local cudaError_t t_last = cudaSuccess;
std::atomic<bool> g_contexts[kDevicesMax];

constexpr int kMultiprocessors = 132;
constexpr int kCudaVersion = 13000;

}  // namespace

cudaError_t Fail(cudaError_t error) {
  t_last = error;
  return error;
}
int CurrentDevice() { return t_device; }
void TouchDevice(int device) { g_contexts[device] = true; }
bool HasContext(int device) { return g_contexts[device]; }

std::vector<int> Contexts() {
  std::vector<int> devices;
  for (int d = 0; d < kDevicesMax; ++d) {
    if (HasContext(d)) devices.push_back(d);
  }
  return devices;
}

DT_FAKE cudaError_t cudaGetDeviceCount(int* count) {
  *count = std::min(TheMachine().devices, kDevicesMax);
  return *count > 0 ? cudaSuccess : Fail(cudaErrorNoDevice);
}

DT_FAKE cudaError_t cudaGetDevice(int* device) {
  *device = t_device;
  return cudaSuccess;
}

DT_FAKE cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= TheMachine().devices) return Fail(cudaErrorInvalidDevice);
  TouchDevice(device);
  t_device = device;
  return cudaSuccess;
}

DT_FAKE cudaError_t cudaDriverGetVersion(int* version) {
  *version = kCudaVersion;
  return cudaSuccess;
}

DT_FAKE cudaError_t cudaRuntimeGetVersion(int* version) { return cudaDriverGetVersion(version); }

DT_FAKE cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = 1;
  return cudaSuccess;
}

DT_FAKE cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return cudaSuccess; }

DT_FAKE cudaError_t cudaDeviceGetPCIBusId(char* text, int size, int device) {
  std::snprintf(text, static_cast<size_t>(size), "0000:%02x:00.0", device + 1);
  return cudaSuccess;
}

DT_FAKE cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return cudaSuccess;
}

DT_FAKE cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
      *value = kMultiprocessors;
      break;
    case cudaDevAttrMaxThreadsPerBlock:
      *value = 1024;
      break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      *value = 2048;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = 49152;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = static_cast<int>(kSharedBytesMax);
      break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *value = 233472;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = 9;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = 0;
      break;
    case cudaDevAttrWarpSize:
      *value = 32;
      break;
    case cudaDevAttrMaxGridDimX:
      *value = 2147483647;
      break;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ:
      *value = 65535;
      break;
    case cudaDevAttrL2CacheSize:
      *value = 50 << 20;
      break;
    case cudaDevAttrMaxRegistersPerMultiprocessor:
    case cudaDevAttrMaxRegistersPerBlock:
      *value = 65536;
      break;
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      *value = 32;
      break;
    case cudaDevAttrClockRate:
      *value = 1980000;
      break;
    default:
      *value = 1;  // in NVIDIA's enum, the remaining attributes are abilities
  }
  return cudaSuccess;
}

DT_FAKE cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  cudaDeviceProp& p = *properties;
  std::memset(&p, 0, sizeof(p));
  std::strcpy(p.name, "NVIDIA H100 80GB HBM3");
  for (int i = 0; i < 16; ++i) p.uuid.bytes[i] = static_cast<char>(i * 17 + device);
  p.totalGlobalMem = TheMachine().memory_bytes;
  p.sharedMemPerBlock = 49152;
  p.sharedMemPerMultiprocessor = 233472;
  p.sharedMemPerBlockOptin = kSharedBytesMax;
  p.regsPerBlock = p.regsPerMultiprocessor = 65536;
  p.warpSize = 32;
  p.memPitch = 2147483647;
  p.maxThreadsPerBlock = p.maxThreadsDim[0] = p.maxThreadsDim[1] = 1024;
  p.maxThreadsDim[2] = 64;
  p.maxGridSize[0] = 2147483647;
  p.maxGridSize[1] = p.maxGridSize[2] = 65535;
  p.totalConstMem = 65536;
  p.major = 9;
  p.textureAlignment = 512;
  p.multiProcessorCount = kMultiprocessors;
  p.maxThreadsPerMultiProcessor = 2048;
  p.maxBlocksPerMultiProcessor = 32;
  p.l2CacheSize = 50 << 20;
  p.pciBusID = device + 1;
  p.unifiedAddressing = p.canMapHostMemory = p.concurrentKernels = p.cooperativeLaunch = 1;
  p.asyncEngineCount = 3;
  return cudaSuccess;
}

DT_FAKE const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaSuccess                 ? "cudaSuccess"
         : error == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation"
                                              : "an error of the fake";
}

DT_FAKE const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaSuccess                       ? "no error"
         : error == cudaErrorMemoryAllocation       ? "out of memory"
         : error == cudaErrorInvalidConfiguration   ? "invalid configuration argument"
         : error == cudaErrorNoKernelImageForDevice ? "the fake computes no such kernel"
                                                    : "an error of the fake";
}

DT_FAKE cudaError_t cudaGetLastError() { return std::exchange(t_last, cudaSuccess); }
DT_FAKE cudaError_t cudaPeekAtLastError() { return t_last; }

// ---- the driver, of which LibTorch uses little ----
DT_FAKE CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  if (flags != nullptr) *flags = 0;
  *active = HasContext(device) ? 1 : 0;
  return CUDA_SUCCESS;
}

DT_FAKE CUresult cuDeviceGet(CUdevice* device, int index) {
  *device = index;
  return CUDA_SUCCESS;
}

DT_FAKE CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute, CUdevice) {
  *value = 0;
  return CUDA_SUCCESS;
}

DT_FAKE CUresult cuCtxGetCurrent(CUcontext* context) {
  static char one;
  *context = reinterpret_cast<CUcontext>(&one);
  return CUDA_SUCCESS;
}

DT_FAKE CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  TouchDevice(device);
  return cuCtxGetCurrent(context);
}

DT_FAKE CUresult cuCtxSetCurrent(CUcontext) { return CUDA_SUCCESS; }
DT_FAKE CUresult cuPointerGetAttribute(void*, CUpointer_attribute, CUdeviceptr) {
  return CUDA_SUCCESS;
}
DT_FAKE CUresult cuGetErrorString(CUresult, const char** text) {
  *text = "an error of the fake driver";
  return CUDA_SUCCESS;
}

DT_FAKE cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned,
                                                     unsigned long long,
                                                     cudaDriverEntryPointQueryResult* result) {
  const std::string_view asked = name;
  const auto found = [&](std::string_view has, auto* entry) {
    if (asked == has) *function = reinterpret_cast<void*>(entry);
  };
  *function = reinterpret_cast<void*>(+[] { return CUDA_SUCCESS; });
  found("cuDevicePrimaryCtxGetState", &cuDevicePrimaryCtxGetState);
  found("cuDeviceGet", &cuDeviceGet);
  found("cuDeviceGetAttribute", &cuDeviceGetAttribute);
  found("cuCtxGetCurrent", &cuCtxGetCurrent);
  found("cuGetErrorString", &cuGetErrorString);
  if (result != nullptr) *result = cudaDriverEntryPointSuccess;
  return cudaSuccess;
}

}  // namespace dt::fake_cuda
