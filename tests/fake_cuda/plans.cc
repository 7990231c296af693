// plans.cc: cuDNN's backend: any graph has one plan, and its execution is noted. Descriptors return
// the attributes that were set.
#include <cudnn.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "tests/fake_cuda/state.h"

namespace dt::fake_cuda {
namespace {

struct Attribute {
  std::vector<char> bytes;
  int64_t count = 0;
};

struct Descriptor {
  cudnnBackendDescriptorType_t type;
  std::map<int, Attribute> attributes;
};

size_t SizeOf(cudnnBackendAttributeType_t type) {
  if (type == CUDNN_TYPE_BOOLEAN || type == CUDNN_TYPE_CHAR) return 1;
  const bool wide = type == CUDNN_TYPE_INT64 || type == CUDNN_TYPE_DOUBLE ||
                    type == CUDNN_TYPE_VOID_PTR || type == CUDNN_TYPE_HANDLE ||
                    type == CUDNN_TYPE_BACKEND_DESCRIPTOR;
  return wide ? 8 : 4;
}

// Sets the values that cuDNN computes: one engine, and no numbers (workspace, behaviour notes).
void WorkOut(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t asked,
             int64_t* count, void* value) {
  const bool wanted = value != nullptr && asked > 0;
  int64_t has = 0;
  if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS || name == CUDNN_ATTR_ENGINECFG_ENGINE) {
    has = 1;
  } else if (name == CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT && wanted) {
    const int64_t one = 1;
    std::memcpy(value, &one, sizeof(one));
    has = 1;
  } else if ((type == CUDNN_TYPE_INT64 || type == CUDNN_TYPE_INT32) && wanted) {
    std::memset(value, 0, SizeOf(type) * static_cast<size_t>(asked));
    has = 1;
  }
  if (count != nullptr) *count = has;
}

}  // namespace

DT_FAKE size_t cudnnGetVersion() { return 91900; }
DT_FAKE size_t cudnnGetCudartVersion() { return 13000; }
DT_FAKE const char* cudnnGetErrorString(cudnnStatus_t) { return "an error of the fake cuDNN"; }
DT_FAKE void cudnnGetLastErrorString(char* text, size_t size) {
  if (size > 0) *text = '\0';
}

DT_FAKE cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  *handle = reinterpret_cast<cudnnHandle_t>(new int(0));
  return CUDNN_STATUS_SUCCESS;
}
DT_FAKE cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudaStream_t) { return CUDNN_STATUS_SUCCESS; }
DT_FAKE cudnnStatus_t cudnnGetStream(cudnnHandle_t, cudaStream_t* stream) {
  *stream = nullptr;
  return CUDNN_STATUS_SUCCESS;
}

DT_FAKE cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                                   cudnnBackendDescriptor_t* descriptor) {
  *descriptor = new Descriptor{type, {}};
  return CUDNN_STATUS_SUCCESS;
}
// Does not free it: plans are few, and one descriptor refers to others.
DT_FAKE cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t) {
  return CUDNN_STATUS_SUCCESS;
}
DT_FAKE cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  if (static_cast<Descriptor*>(descriptor)->type != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
    return CUDNN_STATUS_SUCCESS;
  }
  if (!TheMachine().cudnn_has_plans) return CUDNN_STATUS_NOT_SUPPORTED;
  Note({Kind::kPlan, "made", 0, 0, false});
  return CUDNN_STATUS_SUCCESS;
}

DT_FAKE cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                               cudnnBackendAttributeName_t name,
                                               cudnnBackendAttributeType_t type, int64_t count,
                                               const void* value) {
  const char* bytes = static_cast<const char*>(value);
  Attribute& attribute = static_cast<Descriptor*>(descriptor)->attributes[name];
  attribute.bytes.assign(bytes, bytes + SizeOf(type) * static_cast<size_t>(count));
  attribute.count = count;
  return CUDNN_STATUS_SUCCESS;
}

DT_FAKE cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor,
                                               cudnnBackendAttributeName_t name,
                                               cudnnBackendAttributeType_t type, int64_t asked,
                                               int64_t* count, void* value) {
  const auto& attributes = static_cast<Descriptor*>(descriptor)->attributes;
  const auto it = attributes.find(name);
  if (it == attributes.end()) {
    WorkOut(name, type, asked, count, value);
    return CUDNN_STATUS_SUCCESS;
  }
  if (count != nullptr) *count = it->second.count;
  if (value != nullptr && asked > 0) {
    std::memcpy(value, it->second.bytes.data(),
                std::min(it->second.bytes.size(), SizeOf(type) * static_cast<size_t>(asked)));
  }
  return CUDNN_STATUS_SUCCESS;
}

DT_FAKE cudnnStatus_t cudnnBackendExecute(cudnnHandle_t, cudnnBackendDescriptor_t,
                                          cudnnBackendDescriptor_t) {
  if (!TheMachine().cudnn_has_plans) return CUDNN_STATUS_NOT_SUPPORTED;
  Note({Kind::kPlan, "run", 0, 0, false});
  PassTime(nullptr, kKernelSeconds);
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace dt::fake_cuda
