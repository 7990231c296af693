// products.cc: cuBLAS and cuBLASLt: products are noted with their shapes, not computed.
#include <cublasLt.h>
#include <cublas_v2.h>

#include <cstring>

#include "tests/fake_cuda/state.h"

namespace dt::fake_cuda {
namespace {

constexpr size_t kVersion = 130100;
cublasMath_t g_math = CUBLAS_DEFAULT_MATH;

std::string Shape(int64_t m, int64_t n, int64_t k, int64_t batch = 1) {
  std::string text = std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
  if (batch > 1) text += " batch " + std::to_string(batch);
  return text;
}

cublasStatus_t Multiply(std::string what) {
  Note({Kind::kProduct, std::move(what), 0, 0, false});
  PassTime(nullptr, kKernelSeconds);
  return CUBLAS_STATUS_SUCCESS;
}

struct Product {
  bool transposes_a = false;
};

struct Layout {
  uint64_t rows = 0, columns = 0;
};

const Layout& LayoutOf(cublasLtMatrixLayout_t layout) { return *reinterpret_cast<Layout*>(layout); }

// Makes a Thing of ours that a handle of NVIDIA's points to.
template <typename Thing, typename Handle>
cublasStatus_t Make(Handle* handle, Thing thing = {}) {
  *handle = reinterpret_cast<Handle>(new Thing(thing));
  return CUBLAS_STATUS_SUCCESS;
}
template <typename Thing, typename Handle>
cublasStatus_t Destroy(Handle handle) {
  delete reinterpret_cast<Thing*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

// ---- cuBLAS ----
DT_FAKE cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) { return Make<int>(handle); }
DT_FAKE cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) { return Destroy<int>(handle); }
DT_FAKE cublasStatus_t cublasSetStream_v2(cublasHandle_t, cudaStream_t) {
  return CUBLAS_STATUS_SUCCESS;
}
DT_FAKE cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t, void*, size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
DT_FAKE cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t mode) {
  g_math = mode;
  return CUBLAS_STATUS_SUCCESS;
}
DT_FAKE cublasStatus_t cublasGetMathMode(cublasHandle_t, cublasMath_t* mode) {
  *mode = g_math;
  return CUBLAS_STATUS_SUCCESS;
}
DT_FAKE cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t, cublasPointerMode_t) {
  return CUBLAS_STATUS_SUCCESS;
}
DT_FAKE cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t, cublasPointerMode_t* mode) {
  *mode = CUBLAS_POINTER_MODE_HOST;
  return CUBLAS_STATUS_SUCCESS;
}

DT_FAKE cublasStatus_t cublasGemmEx(cublasHandle_t, cublasOperation_t, cublasOperation_t, int m,
                                    int n, int k, const void*, const void*, cudaDataType, int,
                                    const void*, cudaDataType, int, const void*, void*,
                                    cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t) {
  return Multiply("GemmEx " + Shape(m, n, k));
}

DT_FAKE cublasStatus_t cublasSgemm_v2(cublasHandle_t, cublasOperation_t, cublasOperation_t, int m,
                                      int n, int k, const float*, const float*, int, const float*,
                                      int, const float*, float*, int) {
  return Multiply("Sgemm " + Shape(m, n, k));
}

DT_FAKE cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t, cublasOperation_t,
                                                 cublasOperation_t, int m, int n, int k,
                                                 const float*, const float*, int, long long,
                                                 const float*, int, long long, const float*, float*,
                                                 int, long long, int batch) {
  return Multiply("SgemmStridedBatched " + Shape(m, n, k, batch));
}

DT_FAKE cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t, cublasOperation_t,
                                                  cublasOperation_t, int m, int n, int k,
                                                  const void*, const void*, cudaDataType, int,
                                                  long long, const void*, cudaDataType, int,
                                                  long long, const void*, void*, cudaDataType, int,
                                                  long long, int batch, cublasComputeType_t,
                                                  cublasGemmAlgo_t) {
  return Multiply("GemmStridedBatchedEx " + Shape(m, n, k, batch));
}

DT_FAKE cublasStatus_t cublasSgemv_v2(cublasHandle_t, cublasOperation_t, int m, int n, const float*,
                                      const float*, int, const float*, int, const float*, float*,
                                      int) {
  return Multiply("Sgemv " + Shape(m, n, 1));
}

DT_FAKE cublasStatus_t cublasSdot_v2(cublasHandle_t, int n, const float*, int, const float*, int,
                                     float*) {
  return Multiply("Sdot " + Shape(1, 1, n));
}

// ---- cuBLASLt ----
DT_FAKE size_t cublasLtGetVersion() { return kVersion; }

DT_FAKE cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* product, cublasComputeType_t,
                                                cudaDataType_t) {
  return Make<Product>(product);
}
DT_FAKE cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product) {
  return Destroy<Product>(product);
}
DT_FAKE cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t product,
                                                      cublasLtMatmulDescAttributes_t attribute,
                                                      const void* value, size_t) {
  if (attribute == CUBLASLT_MATMUL_DESC_TRANSA) {
    int32_t operation = 0;
    std::memcpy(&operation, value, sizeof(operation));
    reinterpret_cast<Product*>(product)->transposes_a = operation != CUBLAS_OP_N;
  }
  return CUBLAS_STATUS_SUCCESS;
}

DT_FAKE cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  return Make<int>(preference);
}
DT_FAKE cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return Destroy<int>(preference);
}
DT_FAKE cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t,
                                                            cublasLtMatmulPreferenceAttributes_t,
                                                            const void*, size_t) {
  return CUBLAS_STATUS_SUCCESS;
}

DT_FAKE cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType,
                                                  uint64_t rows, uint64_t columns, int64_t) {
  return Make<Layout>(layout, {rows, columns});
}
DT_FAKE cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return Destroy<Layout>(layout);
}
DT_FAKE cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t,
                                                        cublasLtMatrixLayoutAttribute_t,
                                                        const void*, size_t) {
  return CUBLAS_STATUS_SUCCESS;
}

DT_FAKE cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
    cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int,
    cublasLtMatmulHeuristicResult_t* results, int* count) {
  *results = {};
  *count = 1;
  return CUBLAS_STATUS_SUCCESS;
}

DT_FAKE cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t product, const void*,
                                      const void*, cublasLtMatrixLayout_t a, const void*,
                                      cublasLtMatrixLayout_t, const void*, const void*,
                                      cublasLtMatrixLayout_t c, void*, cublasLtMatrixLayout_t,
                                      const cublasLtMatmulAlgo_t*, void*, size_t, cudaStream_t) {
  const Layout &first = LayoutOf(a), &result = LayoutOf(c);
  const bool transposed = reinterpret_cast<Product*>(product)->transposes_a;
  return Multiply("LtMatmul " +
                  Shape(static_cast<int64_t>(result.rows), static_cast<int64_t>(result.columns),
                        static_cast<int64_t>(transposed ? first.rows : first.columns)));
}

}  // namespace dt::fake_cuda
