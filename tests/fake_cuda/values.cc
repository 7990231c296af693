// values.cc: CUDA operators through those of the CPU. The memory is the same, so an alias of it is
// enough.
#include "tests/fake_cuda/values.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/library.h>

#include <array>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/fake_cuda/fake_cuda.h"

namespace dt::fake_cuda {
namespace {

using at::Tensor;
using torch::jit::Stack;

constexpr double kOperatorSeconds = 3e-6;

Tensor CpuAlias(const Tensor& tensor) {
  if (!tensor.defined() || !tensor.is_cuda()) return tensor;
  const auto options = tensor.options().device(at::kCPU).pinned_memory(false).requires_grad(false);
  if (tensor.numel() == 0) return at::empty(tensor.sizes(), options);
  Tensor alias = at::from_blob(const_cast<void*>(tensor.const_data_ptr()), tensor.sizes(),
                               tensor.strides(), options);
  if (tensor.is_neg()) alias._set_neg(true);
  return alias;
}

Tensor CudaCopy(const Tensor& tensor) {
  if (!tensor.defined()) return tensor;
  const at::Device device(at::kCUDA, c10::cuda::current_device());
  Tensor copy =
      at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(device));
  if (tensor.numel() == 0) return copy;
  int64_t extent = 1;
  for (int64_t d = 0; d < tensor.dim(); ++d) extent += (tensor.size(d) - 1) * tensor.stride(d);
  std::memcpy(copy.mutable_data_ptr(), tensor.const_data_ptr(),
              static_cast<size_t>(extent) * tensor.element_size());
  return copy;
}

// The tensors of one call, and their aliases on the CPU.
class Aliases {
 public:
  Tensor Of(const Tensor& tensor) {
    Tensor alias = CpuAlias(tensor);
    if (tensor.defined() && tensor.is_cuda()) pairs_.emplace_back(tensor, alias);
    return alias;
  }
  // Returns a result on CUDA: an argument that was written to, or a new tensor.
  Tensor Back(const Tensor& result) {
    if (!result.defined()) return result;
    for (auto& [cuda, alias] : pairs_) {
      if (!alias.is_same(result)) continue;
      // The operator may only now have set the size of an out= argument.
      if (cuda.sizes() != result.sizes()) cuda.resize_(result.sizes());
      if (cuda.numel() > 0 && cuda.const_data_ptr() != result.const_data_ptr()) {
        std::memcpy(cuda.mutable_data_ptr(), result.const_data_ptr(), result.nbytes());
      }
      return cuda;
    }
    return CudaCopy(result);
  }
  c10::IValue Argument(const c10::IValue& value) {
    if (value.isTensor()) return Of(value.toTensor());
    if (value.isDevice()) return c10::Device(c10::kCPU);
    if (value.isTensorList()) {
      c10::List<Tensor> list;
      for (const Tensor& tensor : value.toTensorVector()) list.push_back(Of(tensor));
      return list;
    }
    if (value.isOptionalTensorList()) {
      c10::List<std::optional<Tensor>> list;
      for (const std::optional<Tensor>& tensor : value.toOptionalTensorVector()) {
        list.push_back(tensor && tensor->defined() ? std::optional(Of(*tensor)) : tensor);
      }
      return list;
    }
    return value;
  }
  c10::IValue Result(const c10::IValue& value) {
    if (value.isTensor()) return Back(value.toTensor());
    if (!value.isTensorList()) return value;
    c10::List<Tensor> list;
    for (const Tensor& tensor : value.toTensorVector()) list.push_back(Back(tensor));
    return list;
  }

 private:
  std::vector<std::pair<Tensor, Tensor>> pairs_;
};

// Seeds the CPU's generator from the state of the CUDA generator, which advances as after a kernel.
void SeedFromCudaGenerator() {
  const at::Device device(at::kCUDA, c10::cuda::current_device());
  at::Generator cuda = at::globalContext().defaultGenerator(device);
  at::Generator cpu = at::detail::getDefaultCPUGenerator();
  std::scoped_lock lock(cuda.mutex(), cpu.mutex());
  cpu.set_current_seed(cuda.current_seed() * 1000003 + cuda.get_offset());
  cuda.set_offset(cuda.get_offset() + 4);
}

bool DrawsAtRandom(const c10::OperatorHandle& op) {
  static const std::set<std::string> names = {
      "aten::native_dropout", "aten::bernoulli_", "aten::bernoulli", "aten::_fused_dropout",
      "aten::normal_",        "aten::uniform_",   "aten::random_",   "aten::multinomial"};
  return names.count(op.operator_name().name) > 0;
}

void ByCpuKernel(const c10::OperatorHandle& op, c10::DispatchKeySet, Stack* stack) {
  const auto& arguments = op.schema().arguments();
  const size_t first = stack->size() - arguments.size();
  Aliases aliases;
  for (size_t i = 0; i < arguments.size(); ++i) {
    c10::IValue& value = (*stack)[first + i];
    value = arguments[i].name() == "pin_memory" ? c10::IValue() : aliases.Argument(value);
  }
  PassTime(c10::cuda::getCurrentCUDAStream().stream(), kOperatorSeconds);
  if (DrawsAtRandom(op)) SeedFromCudaGenerator();
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  for (size_t i = stack->size() - op.schema().returns().size(); i < stack->size(); ++i) {
    (*stack)[i] = aliases.Result((*stack)[i]);
  }
}

// ---- operators that have another CPU kernel, or none ----
Tensor& Copy(Tensor& self, const Tensor& source, bool) {
  CpuAlias(self).copy_(CpuAlias(source));
  return self;
}

// Multiplies 16-bit factors with a product in fp32.
Tensor& ProductInto(const Tensor& a, const Tensor& b, at::ScalarType type, Tensor& out) {
  TORCH_CHECK(out.scalar_type() == type && (type == a.scalar_type() || type == at::kFloat));
  Tensor target = CpuAlias(out);
  at::mm_out(target, CpuAlias(a).to(at::kFloat), CpuAlias(b).to(at::kFloat));
  return out;
}

// Computes every kind of attention with the CPU's fused one, which has no dropout.
std::tuple<Tensor, Tensor, Tensor, Tensor, c10::SymInt, c10::SymInt, Tensor, Tensor, Tensor>
Attention(const Tensor& q, const Tensor& k, const Tensor& v, double, bool causal, bool,
          std::optional<double> scale) {
  const auto [out, sums] = at::_scaled_dot_product_flash_attention_for_cpu(
      CpuAlias(q), CpuAlias(k), CpuAlias(v), 0, causal, {}, scale);
  const Tensor none = at::empty({0}, q.options().dtype(at::kLong));
  return {CudaCopy(out), CudaCopy(sums), none, none, q.size(2), k.size(2), none, none, none};
}

std::tuple<Tensor, Tensor, Tensor> AttentionBackward(
    const Tensor& gradient, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out,
    const Tensor& sums, const Tensor&, const Tensor&, c10::SymInt, c10::SymInt, double, bool causal,
    const Tensor&, const Tensor&, std::optional<double> scale) {
  const auto [dq, dk, dv] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
      CpuAlias(gradient), CpuAlias(q), CpuAlias(k), CpuAlias(v), CpuAlias(out), CpuAlias(sums), 0,
      causal, {}, scale);
  return {CudaCopy(dq), CudaCopy(dk), CudaCopy(dv)};
}

// The other kinds take their arguments in another order.
std::tuple<Tensor, Tensor, Tensor, Tensor> EfficientAttention(const Tensor& q, const Tensor& k,
                                                              const Tensor& v,
                                                              const std::optional<Tensor>&, bool,
                                                              double dropout, bool causal,
                                                              std::optional<double> scale) {
  auto made = Attention(q, k, v, dropout, causal, false, scale);
  return {std::get<0>(made), std::get<1>(made), std::get<2>(made), std::get<3>(made)};
}
std::tuple<Tensor, Tensor, Tensor, Tensor> EfficientAttentionBackward(
    const Tensor& gradient, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor&,
    const Tensor& out, const Tensor& sums, const Tensor& seed, const Tensor& offset, double dropout,
    std::array<bool, 4>, bool causal, std::optional<double> scale) {
  auto [dq, dk, dv] = AttentionBackward(gradient, q, k, v, out, sums, seed, offset, 0, 0, dropout,
                                        causal, seed, offset, scale);
  return {dq, dk, dv, Tensor()};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, c10::SymInt, c10::SymInt, Tensor, Tensor, Tensor>
CudnnAttention(const Tensor& q, const Tensor& k, const Tensor& v, const std::optional<Tensor>&,
               bool, double dropout, bool causal, bool, std::optional<double> scale) {
  return Attention(q, k, v, dropout, causal, false, scale);
}
std::tuple<Tensor, Tensor, Tensor> CudnnAttentionBackward(
    const Tensor& gradient, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out,
    const Tensor& sums, const Tensor& seed, const Tensor& offset, const Tensor&, const Tensor&,
    const Tensor&, c10::SymInt most_q, c10::SymInt most_k, double dropout, bool causal,
    std::optional<double> scale) {
  return AttentionBackward(gradient, q, k, v, out, sums, seed, offset, std::move(most_q),
                           std::move(most_k), dropout, causal, seed, offset, scale);
}

// These operators make or look at a tensor without touching values, copy through the runtime, or
// are defined above.
const std::set<std::string>& KeptOperators() {
  static const std::set<std::string> names = {"empty.memory_format",
                                              "empty_strided",
                                              "as_strided",
                                              "view",
                                              "view.dtype",
                                              "_reshape_alias",
                                              "_unsafe_view",
                                              "resize_",
                                              "_resize_output_",
                                              "unfold",
                                              "alias",
                                              "detach",
                                              "select.int",
                                              "slice.Tensor",
                                              "lift",
                                              "lift_fresh",
                                              "view_as_real",
                                              "view_as_complex",
                                              "is_set_to",
                                              "set_",
                                              "set_.source_Storage",
                                              "set_.source_Storage_storage_offset",
                                              "set_.source_Tensor",
                                              "storage_offset",
                                              "_has_same_storage_numel",
                                              "_efficientzerotensor",
                                              "record_stream",
                                              "is_pinned",
                                              "_pin_memory",
                                              "_local_scalar_dense",
                                              "copy_",
                                              "mm.dtype_out",
                                              "_scaled_dot_product_efficient_attention",
                                              "_scaled_dot_product_efficient_attention_backward",
                                              "_scaled_dot_product_flash_attention",
                                              "_scaled_dot_product_flash_attention_backward",
                                              "_scaled_dot_product_cudnn_attention",
                                              "_scaled_dot_product_cudnn_attention_backward"};
  return names;
}

}  // namespace

struct Values::Registered {
  std::vector<c10::RegistrationHandleRAII> by_cpu_kernel;
  torch::Library own{torch::Library::IMPL, "aten", c10::DispatchKey::CUDA, __FILE__, __LINE__};
};

Values::Values() : registered_(std::make_unique<Registered>()) {
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    if (name.name.rfind("aten::", 0) != 0) continue;
    const auto op = dispatcher.findOp(name);
    if (!op || !op->hasKernelForDispatchKey(c10::DispatchKey::CUDA)) continue;
    if (!op->hasComputedKernelForDispatchKey(c10::DispatchKey::CPU)) continue;
    const std::string overload = name.overload_name.empty() ? "" : "." + name.overload_name;
    if (KeptOperators().count(name.name.substr(6) + overload) > 0) continue;
    registered_->by_cpu_kernel.push_back(dispatcher.registerImpl(
        name, c10::DispatchKey::CUDA, c10::KernelFunction::makeFromBoxedFunction<&ByCpuKernel>(),
        std::nullopt, nullptr, "fake CUDA"));
  }
  torch::Library& own = registered_->own;
  own.impl("copy_", Copy);
  own.impl("mm.dtype_out", ProductInto);
  own.impl("_scaled_dot_product_flash_attention", Attention);
  own.impl("_scaled_dot_product_flash_attention_backward", AttentionBackward);
  own.impl("_scaled_dot_product_efficient_attention", EfficientAttention);
  own.impl("_scaled_dot_product_efficient_attention_backward", EfficientAttentionBackward);
  own.impl("_scaled_dot_product_cudnn_attention", CudnnAttention);
  own.impl("_scaled_dot_product_cudnn_attention_backward", CudnnAttentionBackward);
  TheMachine().computes = true;
}

Values::~Values() { TheMachine().computes = false; }

}  // namespace dt::fake_cuda
