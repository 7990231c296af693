// device.h: one interface for CPU slots and GPUs: time, memory, collectives.
//
// Role:    the rest of the trainer is the same on both. cpu_device.cc and cuda/cuda_device.cc
//          implement it; the program without CUDA links cuda/absent.cc instead of the latter.
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

// Timestamps on the device's own timeline. A GPU runs behind the host, so there a timestamp is an
// event in the stream, and is read only after the step is known to be complete.
class Timeline {
 public:
  using Moment = int32_t;
  virtual ~Timeline() = default;
  // Forgets all timestamps. Called between steps, when nothing uses them any more.
  virtual void Restart() = 0;
  // Records a timestamp in the current stream. Thread-safe: hooks run on other threads.
  virtual Moment Now() = 0;
  // Returns the seconds between two timestamps. REQUIRES: Device::Synchronize since `to` was
  // recorded.
  virtual double Seconds(Moment from, Moment to) const = 0;
};

struct DeviceFacts {
  std::string name;
  std::string gpu_uuid;
  std::string nccl_version;
  std::string cuda_version;
  int32_t threads = 0;
  uint64_t memory_bytes = 0;
  std::string memory_bound;  // description for messages: "the 700 MiB that --memory-limit allows"
};

struct BackendOptions {
  c10::intrusive_ptr<c10d::Store> store;
  int rank = 0;
  int size = 1;
  std::string listen_host;  // host address on which this rank's own connections listen
  std::chrono::milliseconds timeout{0};
};

class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceFacts Facts() const = 0;
  virtual c10::Device Torch() const = 0;
  virtual std::unique_ptr<Timeline> NewTimeline() = 0;
  // Returns whether gradients may be averaged in memory that the ranks of one host share.
  virtual bool SharesMemory() const = 0;
  // Joins the backend of the collectives; all `size` ranks call it. May throw.
  virtual c10::intrusive_ptr<c10d::Backend> JoinBackend(const BackendOptions& options) = 0;
  // Copies a batch from the host to the device. May return before the copy is complete.
  virtual at::Tensor Upload(const at::Tensor& host) = 0;
  virtual void Synchronize() = 0;
  // Starts a new peak measurement: PeakBytes and the tensor peak count from here.
  virtual void RestartPeak() = 0;
  virtual uint64_t PeakBytes() const = 0;
  // Returns the bytes of tensors alone: now, and at the peak.
  virtual TensorBytes Tensors() const = 0;
  // Gives cached memory back between trials. An error means that most of it stays allocated, and
  // the next trial needs a new process.
  virtual absl::Status ReleaseMemory() = 0;
};

// Returns how many bytes of host memory this process may take now without taking them from its own
// training: its limit on data less the most that it ever used, but no more than the host has free.
uint64_t SpareHostBytes();

struct DeviceOptions {
  std::string word = "cpu";   // cpu | cuda:N
  int threads = 0;            // for CPU kernels; 0: HostThreads
  uint64_t memory_limit = 0;  // limit on the data of a CPU process, bytes; 0: no limit
  bool share_memory = true;   // between CPU ranks of one host; false: use Gloo there too
};
// Returns the number of threads for CPU kernels; 0 means LibTorch's default, one per core. Beside a
// GPU these threads only copy batches and draw the initial parameters. With one pool on all cores
// in each trainer of a host, the threads would only disturb one another.
int HostThreads(const DeviceOptions& options);
// Opens the device. Errors: ConfigError for an unknown word, a missing device, or a build without
// CUDA.
absl::StatusOr<std::unique_ptr<Device>> OpenDevice(const DeviceOptions& options);

std::unique_ptr<Device> OpenCpu(bool share_memory = true);
// Opens a GPU. Errors: ConfigError if there is no such GPU or this build has no CUDA.
absl::StatusOr<std::unique_ptr<Device>> OpenCuda(int index);
// Replaces this process by dttrain-cuda, with the same arguments, in a program without CUDA.
// Returns if there is no dttrain-cuda beside it. In a program with CUDA: does nothing.
void BecomeCudaProgram(char** arguments);

}  // namespace dt::trainer
