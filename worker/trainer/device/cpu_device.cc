// cpu_device.cc: a CPU slot: steady clock, process memory, Gloo.
#include <malloc.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <vector>

#include "common/text.h"
#include "worker/trainer/device/device.h"
#include "worker/trainer/device/failure.h"

// MKL, linked into LibTorch, calls this function to detect Intel processors. On other processors it
// then uses AVX2 kernels only, which halves the speed of matrix products on a CPU with AVX-512. The
// program's own definition takes precedence over the library's, so MKL goes by the processor's
// feature flags.
extern "C" int mkl_serv_intel_cpu_true() { return 1; }

namespace dt::trainer {
namespace {

// LibTorch 2.11 records each collective for its flight recorder, in a process-wide table that it
// writes before it takes the lock. Groups on several threads corrupt that table. Turn the recorder
// off before any thread or group exists, since LibTorch reads this variable once. Nothing here
// reads the recorder. A value that the user set is kept.
[[maybe_unused]] const int flight_recorder_off = setenv("TORCH_FR_BUFFER_SIZE", "0", 0);

class ClockTimeline final : public Timeline {
 public:
  void Restart() override {
    std::lock_guard lock(mutex_);
    moments_.clear();
  }
  Moment Now() override {
    const auto now = std::chrono::steady_clock::now();
    std::lock_guard lock(mutex_);
    moments_.push_back(now);
    return static_cast<Moment>(moments_.size() - 1);
  }
  double Seconds(Moment from, Moment to) const override {
    std::lock_guard lock(mutex_);
    return std::chrono::duration<double>(moments_.at(to) - moments_.at(from)).count();
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::chrono::steady_clock::time_point> moments_;
};

// Returns a field of /proc/self/status or /proc/cpuinfo: the text after "name:".
std::string ProcField(const char* file, const std::string& name) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.compare(0, name.size(), name) != 0) continue;
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const size_t start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return "";
}

uint64_t ProcBytes(const char* file, const std::string& name) {
  return std::strtoull(ProcField(file, name).c_str(), nullptr, 10) * 1024;
}

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(bool share_memory)
      : share_memory_(share_memory), data_at_first_(DataBytes()) {}
  DeviceFacts Facts() const override {
    DeviceFacts facts;
    facts.name = ProcField("/proc/cpuinfo", "model name");
    facts.threads = at::get_num_threads();
    rlimit limit{};
    // Use the hard limit: the soft one is lower while shared memory is charged to it.
    if (getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_max != RLIM_INFINITY) {
      facts.memory_bytes = limit.rlim_max;
      facts.memory_bound = "the " + FormatBytes(static_cast<double>(facts.memory_bytes)) +
                           " that --memory-limit allows";
    } else {
      struct sysinfo info {};
      if (sysinfo(&info) == 0) facts.memory_bytes = uint64_t{info.totalram} * info.mem_unit;
      facts.memory_bound =
          "the " + FormatBytes(static_cast<double>(facts.memory_bytes)) + " of this host";
    }
    return facts;
  }
  c10::Device Torch() const override { return c10::Device(c10::kCPU); }
  std::unique_ptr<Timeline> NewTimeline() override { return std::make_unique<ClockTimeline>(); }
  c10::intrusive_ptr<c10d::Backend> JoinBackend(const BackendOptions& options) override {
    auto gloo = c10d::ProcessGroupGloo::Options::create(options.timeout);
    gloo->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(options.listen_host));
    // Use one thread, so that all-reduces run one after another and can be timed separately.
    gloo->threads = 1;
    return c10::make_intrusive<c10d::ProcessGroupGloo>(options.store, options.rank, options.size,
                                                       gloo);
  }
  bool SharesMemory() const override { return share_memory_; }
  at::Tensor Upload(const at::Tensor& host) override { return host; }
  void Synchronize() override {}
  void RestartPeak() override {
    // 5 resets the high-water mark of resident memory (proc(5)).
    std::ofstream("/proc/self/clear_refs") << "5";
    RestartTensorPeak();
  }
  uint64_t PeakBytes() const override { return ProcBytes("/proc/self/status", "VmHWM"); }
  TensorBytes Tensors() const override { return CountedTensors(); }
  absl::Status ReleaseMemory() override {
    ReleaseKeptBlocks();
    malloc_trim(0);
    rlimit limit{};
    if (getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_max == RLIM_INFINITY)
      return absl::OkStatus();
    // A small block at the end of the heap keeps all of the heap mapped. New tensors can reuse that
    // memory, but shared memory and thread stacks are mapped outside the heap, under the same
    // limit.
    const uint64_t data = DataBytes();
    if (data <= data_at_first_ || data - data_at_first_ <= (limit.rlim_max - data_at_first_) / 2)
      return absl::OkStatus();
    return OutOfMemoryError("the heap keeps " + FormatBytes(static_cast<double>(data)) + " of " +
                            Facts().memory_bound + " mapped");
  }

 private:
  static uint64_t DataBytes() { return ProcBytes("/proc/self/status", "VmData"); }

  const bool share_memory_;
  const uint64_t data_at_first_;
};

// Tells malloc to keep its heap, since each step frees what it allocated and the next step
// allocates it again. With this and the pool of large blocks, page faults fall by a factor of 50
// and the time of a step by a quarter.
void CalmAllocator(uint64_t memory_limit) {
  constexpr uint64_t kTopPad = 16 << 20;
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  mallopt(M_TOP_PAD,
          static_cast<int>(memory_limit == 0 ? kTopPad : std::min(kTopPad, memory_limit / 32)));
}

}  // namespace

int HostThreads(const DeviceOptions& options) {
  constexpr int kBesideGpu = 2;
  if (options.threads > 0) return options.threads;
  return options.word == "cpu" ? 0 : kBesideGpu;
}

uint64_t SpareHostBytes() {
  const uint64_t free = ProcBytes("/proc/meminfo", "MemAvailable");
  rlimit limit{};
  if (getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return free;
  // The heap and the kept blocks never shrink during training, so current use is its maximum.
  const uint64_t used = ProcBytes("/proc/self/status", "VmData");
  return used < limit.rlim_cur ? std::min<uint64_t>(free, limit.rlim_cur - used) : 0;
}

std::unique_ptr<Device> OpenCpu(bool share_memory) {
  return std::make_unique<CpuDevice>(share_memory);
}

absl::StatusOr<std::unique_ptr<Device>> OpenDevice(const DeviceOptions& options) {
  if (options.threads > 0) at::set_num_threads(options.threads);
  if (options.word == "cpu") {
    CountTensors();
    CalmAllocator(options.memory_limit);
    if (options.memory_limit > 0) {
      const rlimit limit{options.memory_limit, options.memory_limit};
      if (setrlimit(RLIMIT_DATA, &limit) != 0) {
        return ConfigError("--memory-limit " + std::to_string(options.memory_limit) +
                           " cannot be set; a hard limit may be lower");
      }
    }
    return OpenCpu(options.share_memory);
  }
  if (options.word.rfind("cuda", 0) == 0) {
    const std::string index = options.word.size() > 5 ? options.word.substr(5) : "0";
    if (options.word.size() != 4 &&
        (options.word[4] != ':' || index.find_first_not_of("0123456789") != std::string::npos ||
         index.size() > 4)) {
      return ConfigError("--device " + options.word + " is not cpu or cuda:N");
    }
    DT_ASSIGN_OR_RETURN(std::unique_ptr<Device> gpu, OpenCuda(std::stoi(index)));
    // Set only now: if there is no GPU, a CPU may be tried.
    at::set_num_threads(HostThreads(options));
    return gpu;
  }
  return ConfigError("--device " + options.word + " is not cpu or cuda:N");
}

}  // namespace dt::trainer
