// device.h: what differs between a CPU slot and a GPU, behind one door: time, memory, collectives.
//
// Role:    the rest of the trainer is the same on both. cpu_device.cc and cuda/cuda_device.cc
//          implement it; the program without CUDA has cuda/absent.cc instead of the latter.
// Errors:  LibTorch's exceptions pass through the methods; train.cc turns them into an outcome.
// Tests:   tests/worker/trainer/device, tests/gpu
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "common/status.h"
#include "worker/trainer/device/tensor_count.h"
#include "worker/trainer/device/torch_prefix.h"

namespace c10d {
class Backend;
class Store;
}  // namespace c10d

namespace dt::trainer {

// Moments on the device's own time line. A GPU runs behind the host, so a moment there is an event
// in the stream, read only once the step is known to be complete.
class Timeline {
 public:
  using Moment = int32_t;
  virtual ~Timeline() = default;
  // Forgets all moments. Called between steps, when nothing uses them any more.
  virtual void Restart() = 0;
  // Records this moment of the current stream. Thread-safe: hooks run on other threads.
  virtual Moment Now() = 0;
  // REQUIRES: Device::Synchronize since `to` was recorded.
  virtual double Seconds(Moment from, Moment to) const = 0;
};

struct DeviceFacts {
  std::string name;
  std::string gpu_uuid;
  std::string nccl_version;
  std::string cuda_version;
  int32_t threads = 0;
  uint64_t memory_bytes = 0;
  std::string memory_bound;  // in words: "the 700 MiB that --memory-limit allows"
};

struct BackendOptions {
  c10::intrusive_ptr<c10d::Store> store;
  int rank = 0;
  int size = 1;
  std::string listen_host;  // where this rank's own connections listen
  std::chrono::milliseconds timeout{0};
};

class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceFacts Facts() const = 0;
  virtual c10::Device Torch() const = 0;
  virtual std::unique_ptr<Timeline> NewTimeline() = 0;
  // Whether gradients may be averaged in memory that ranks of one host share.
  virtual bool SharesMemory() const = 0;
  // Joins the collectives' backend; every rank of `size` calls it. May throw.
  virtual c10::intrusive_ptr<c10d::Backend> JoinBackend(const BackendOptions& options) = 0;
  // Host tensor of a batch, on the device. May return before the copy is complete.
  virtual at::Tensor Upload(const at::Tensor& host) = 0;
  virtual void Synchronize() = 0;
  // Peak of the trial: since the last RestartPeak.
  virtual void RestartPeak() = 0;
  virtual uint64_t PeakBytes() const = 0;
  // What tensors alone take: now, and at the peak.
  virtual TensorBytes Tensors() const = 0;
  // Gives cached memory back between trials. An error: most of it stays, and another trial needs
  // another process.
  virtual absl::Status ReleaseMemory() = 0;
};

// Host memory that this process may take now without taking it from its own training: what its
// limit on data leaves above the most that it ever used, and no more than the host has free.
uint64_t SpareHostBytes();

struct DeviceOptions {
  std::string word = "cpu";   // cpu | cuda:N
  int threads = 0;            // of CPU kernels; 0: HostThreads
  uint64_t memory_limit = 0;  // bytes of data a CPU process may allocate; 0: none
  bool share_memory = true;   // between CPU ranks of one host; false: Gloo there too
};
// How many threads CPU kernels get; 0: LibTorch's choice, which is a thread a core. Beside a GPU
// they copy batches and draw the first parameters, and a pool on all cores in each of a host's
// trainers would only wake threads that disturb one another.
int HostThreads(const DeviceOptions& options);
// Errors: ConfigError for an unknown word, a device that is not there, or a build without CUDA.
absl::StatusOr<std::unique_ptr<Device>> OpenDevice(const DeviceOptions& options);

std::unique_ptr<Device> OpenCpu(bool share_memory = true);
// Errors: ConfigError when there is no such GPU or this build has no CUDA.
absl::StatusOr<std::unique_ptr<Device>> OpenCuda(int index);
// In a program without CUDA: becomes dttrain-cuda, with the same arguments, where that lies beside
// it, and returns where it does not. In one with CUDA: returns.
void BecomeCudaProgram(char** arguments);

}  // namespace dt::trainer
