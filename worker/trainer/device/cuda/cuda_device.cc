// cuda_device.cc: a GPU: events in the stream, the caching allocator, NCCL.
#include <ATen/Context.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGraphsC10Utils.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstdlib>
#include <mutex>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#include <vector>

#include "common/text.h"
#include "worker/trainer/device/cuda/attention.h"
#include "worker/trainer/device/cuda/row_kernels.h"
#include "worker/trainer/device/device.h"
#include "worker/trainer/device/failure.h"
#include "worker/trainer/device/interface.h"

namespace dt::trainer {
namespace {

// Events are created once and reused in every step.
class EventTimeline final : public Timeline {
 public:
  ~EventTimeline() override {
    for (cudaEvent_t event : events_) cudaEventDestroy(event);
  }
  void Restart() override {
    std::lock_guard lock(mutex_);
    used_ = 0;
  }
  Moment Now() override {
    std::lock_guard lock(mutex_);
    if (used_ == events_.size()) {
      cudaEvent_t event = nullptr;
      C10_CUDA_CHECK(cudaEventCreate(&event));
      events_.push_back(event);
    }
    // In a graph capture a plain event becomes part of the graph and has no time; an external event
    // keeps its time.
    const bool captured =
        c10::cuda::currentStreamCaptureStatusMayInitCtx() != c10::cuda::CaptureStatus::None;
    C10_CUDA_CHECK(
        cudaEventRecordWithFlags(events_[used_], c10::cuda::getCurrentCUDAStream(),
                                 captured ? cudaEventRecordExternal : cudaEventRecordDefault));
    return static_cast<Moment>(used_++);
  }
  double Seconds(Moment from, Moment to) const override {
    std::lock_guard lock(mutex_);
    float milliseconds = 0;
    C10_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, events_.at(from), events_.at(to)));
    return milliseconds / 1e3;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<cudaEvent_t> events_;
  size_t used_ = 0;
};

std::string DottedVersion(int version, int major_unit, int minor_unit) {
  return std::to_string(version / major_unit) + "." +
         std::to_string(version % major_unit / minor_unit);
}

// Makes a failed collective end the attempt and not the process: the watchdog must not terminate,
// the monitor must not kill, and nothing is dumped. Before the watchdog wakes the threads that wait
// in the collective, it grants time for dumps, even if there are none: a minute by default, so it
// is set to 1 ms. The deadlines that count are those of the coordinator and the agent. The watchdog
// must not rethrow an error of the device either: nobody catches it on that thread, and the process
// would end before the attempt reports its result.
void LetCollectivesFailInPlace() {
  setenv("TORCH_NCCL_ASYNC_ERROR_HANDLING", "2", 0);
  setenv("TORCH_NCCL_DUMP_ON_TIMEOUT", "0", 0);
  setenv("TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC", "1", 0);
  setenv("TORCH_NCCL_ENABLE_MONITORING", "0", 0);
  setenv("TORCH_NCCL_RETHROW_CUDA_ERRORS", "0", 0);
  // Turns off NCCL's RAS thread, which serves `ncclras`. Its sockets live as long as the process,
  // and an abort while ranks join would take them for the attempt's sockets.
  setenv("NCCL_RAS_ENABLE", "0", 0);
}

// Blocks until all ranks are present. NCCL waits for its peers without a time limit, so it is
// called only after that. This wait in the store has a limit, and also ends when the store's
// connection does.
void AwaitEveryone(const BackendOptions& options) {
  const auto key = [](int rank) { return "here/" + std::to_string(rank); };
  options.store->set(key(options.rank), std::vector<uint8_t>{1});
  std::vector<std::string> everyone;
  for (int rank = 0; rank < options.size; ++rank) everyone.push_back(key(rank));
  options.store->wait(everyone, options.timeout);
}

// Makes NCCL use the interface that --data-address names; otherwise it chooses one itself. NCCL
// reads this at the first group of a process, and the address is the same for all groups.
void UseInterfaceOf(const std::string& host) {
  const std::string name = InterfaceOf(host);
  // "=" means an exact name, not a prefix. A value that the user set is kept.
  if (!name.empty()) setenv("NCCL_SOCKET_IFNAME", ("=" + name).c_str(), 0);
}

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int index) : device_(c10::kCUDA, static_cast<c10::DeviceIndex>(index)) {
    c10::cuda::set_device(device_.index());
    LetCollectivesFailInPlace();
    if (const absl::Status offered = OfferRowKernel(device_); !offered.ok()) {
      std::fprintf(stderr, "the loss uses tensor operations: %s\n",
                   std::string(offered.message()).c_str());
    }
    if (const absl::Status tried = TryAttention(device_); !tried.ok()) {
      std::fprintf(stderr, "attention does not use cuDNN: %s\n",
                   std::string(tried.message()).c_str());
    }
  }
  DeviceFacts Facts() const override {
    const cudaDeviceProp& properties = *at::cuda::getDeviceProperties(device_.index());
    DeviceFacts facts;
    facts.name = properties.name;
    char uuid[41] = "GPU-";
    for (int i = 0, at = 4; i < 16; ++i) {
      if (i == 4 || i == 6 || i == 8 || i == 10) uuid[at++] = '-';
      std::snprintf(uuid + at, 3, "%02x", static_cast<unsigned char>(properties.uuid.bytes[i]));
      at += 2;
    }
    facts.gpu_uuid = uuid;
    facts.threads = at::get_num_threads();
    facts.memory_bytes = properties.totalGlobalMem;
    facts.memory_bound =
        "the " + FormatBytes(static_cast<double>(facts.memory_bytes)) + " of this GPU";
    int version = 0;
    if (cudaRuntimeGetVersion(&version) == cudaSuccess) {
      facts.cuda_version = DottedVersion(version, 1000, 10);
    }
    if (ncclGetVersion(&version) == ncclSuccess) {
      facts.nccl_version = DottedVersion(version, 10000, 100) + "." + std::to_string(version % 100);
    }
    return facts;
  }
  c10::Device Torch() const override { return device_; }
  std::unique_ptr<Timeline> NewTimeline() override { return std::make_unique<EventTimeline>(); }
  bool SharesMemory() const override { return false; }
  c10::intrusive_ptr<c10d::Backend> JoinBackend(const BackendOptions& options) override {
    UseInterfaceOf(options.listen_host);
    AwaitEveryone(options);
    auto nccl = c10d::ProcessGroupNCCL::Options::create();
    nccl->timeout = options.timeout;
    auto backend = c10::make_intrusive<c10d::ProcessGroupNCCL>(options.store, options.rank,
                                                               options.size, nccl);
    backend->setBoundDeviceId(device_);
    backend->eagerConnectSingleDevice(device_);
    return backend;
  }
  at::Tensor Upload(const at::Tensor& host) override {
    return host.pin_memory().to(device_, /*non_blocking=*/true);
  }
  void Synchronize() override { c10::cuda::device_synchronize(); }
  void RestartPeak() override { c10::cuda::CUDACachingAllocator::resetPeakStats(device_.index()); }
  uint64_t PeakBytes() const override {
    constexpr auto kAll = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
    return c10::cuda::CUDACachingAllocator::getDeviceStats(device_.index())
        .reserved_bytes[kAll]
        .peak;
  }
  TensorBytes Tensors() const override {
    constexpr auto kAll = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
    const auto allocated =
        c10::cuda::CUDACachingAllocator::getDeviceStats(device_.index()).allocated_bytes[kAll];
    return {static_cast<uint64_t>(allocated.current), static_cast<uint64_t>(allocated.peak)};
  }
  absl::Status ReleaseMemory() override {
    c10::cuda::CUDACachingAllocator::emptyCache();
    return absl::OkStatus();
  }

 private:
  const c10::Device device_;
};

}  // namespace

void BecomeCudaProgram(char** /*arguments*/) {}

absl::StatusOr<std::unique_ptr<Device>> OpenCuda(int index) {
  try {
    const int count = c10::cuda::device_count();
    if (index >= count) {
      return ConfigError("--device cuda:" + std::to_string(index) + ": " +
                         (count == 0
                              ? "there is no GPU or no driver here"
                              : "there are " + std::to_string(count) + " GPUs, counted from 0"));
    }
    at::globalContext().lazyInitDevice(c10::kCUDA);
    return std::unique_ptr<Device>(std::make_unique<CudaDevice>(index));
  } catch (...) {
    return ConfigError("--device cuda:" + std::to_string(index) + ": " +
                       std::string(ErrorOfException().message()));
  }
}

}  // namespace dt::trainer
