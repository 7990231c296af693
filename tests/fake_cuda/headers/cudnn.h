// cudnn.h: the parts of cuDNN that the fake uses, for machines without NVIDIA's header.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

using cudnnHandle_t = struct cudnnContext*;
using cudnnBackendDescriptor_t = void*;

typedef enum { CUDNN_STATUS_SUCCESS = 0, CUDNN_STATUS_NOT_SUPPORTED = 3000 } cudnnStatus_t;

typedef enum { CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR = 5 } cudnnBackendDescriptorType_t;

typedef enum {
  CUDNN_ATTR_ENGINEHEUR_RESULTS = 202,
  CUDNN_ATTR_ENGINECFG_ENGINE = 300,
  CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT = 802,
} cudnnBackendAttributeName_t;

typedef enum {
  CUDNN_TYPE_HANDLE = 0,
  CUDNN_TYPE_BOOLEAN = 2,
  CUDNN_TYPE_INT64 = 3,
  CUDNN_TYPE_DOUBLE = 5,
  CUDNN_TYPE_VOID_PTR = 6,
  CUDNN_TYPE_BACKEND_DESCRIPTOR = 15,
  CUDNN_TYPE_INT32 = 23,
  CUDNN_TYPE_CHAR = 24,
} cudnnBackendAttributeType_t;
