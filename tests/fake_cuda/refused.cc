// refused.cc: functions of the driver and of nvrtc whose addresses LibTorch takes, so that they
// must exist, but that our programs never call. NVIDIA's headers are not included: without
// arguments the names are enough.
#include <cstdio>
#include <cstdlib>

#define DT_REFUSED(name)                                                         \
  extern "C" __attribute__((visibility("default"))) void name() {                \
    std::fprintf(stderr, "fake CUDA: " #name " was called, which it has not\n"); \
    std::abort();                                                                \
  }

DT_REFUSED(cuFuncGetAttribute)
DT_REFUSED(cuFuncSetAttribute)
DT_REFUSED(cuFuncSetCacheConfig)
DT_REFUSED(cuLaunchCooperativeKernel)
DT_REFUSED(cuLaunchKernel)
DT_REFUSED(cuLinkAddData_v2)
DT_REFUSED(cuLinkComplete)
DT_REFUSED(cuLinkCreate_v2)
DT_REFUSED(cuModuleGetFunction)
DT_REFUSED(cuModuleLoad)
DT_REFUSED(cuModuleLoadData)
DT_REFUSED(cuModuleLoadDataEx)
DT_REFUSED(cuModuleUnload)
DT_REFUSED(cuOccupancyMaxActiveBlocksPerMultiprocessor)
DT_REFUSED(cuTensorMapEncodeTiled)
DT_REFUSED(nvrtcAddNameExpression)
DT_REFUSED(nvrtcCompileProgram)
DT_REFUSED(nvrtcCreateProgram)
DT_REFUSED(nvrtcDestroyProgram)
DT_REFUSED(nvrtcGetCUBIN)
DT_REFUSED(nvrtcGetCUBINSize)
DT_REFUSED(nvrtcGetErrorString)
DT_REFUSED(nvrtcGetLoweredName)
DT_REFUSED(nvrtcGetPTX)
DT_REFUSED(nvrtcGetPTXSize)
DT_REFUSED(nvrtcGetProgramLog)
DT_REFUSED(nvrtcGetProgramLogSize)
DT_REFUSED(nvrtcVersion)
