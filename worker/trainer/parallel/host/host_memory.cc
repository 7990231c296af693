// host_memory.cc: the memfd, its mapping, and its charge against the limit on data.
#include "worker/trainer/parallel/host/host_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>

namespace dt::trainer {
namespace {

constexpr size_t kPage = 4096;

size_t WholePages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

absl::Status NoMemory(const std::string& what) {
  return IoError("shared memory for all-reduce: " + what + ": " + std::strerror(errno));
}

// Lowers the limit on data by `bytes`, since the kernel does not count shared pages as data.
// Returns the bytes charged.
uint64_t Charge(uint64_t bytes) {
  rlimit limit{};
  if (getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return 0;
  const uint64_t charged = std::min<uint64_t>(bytes, limit.rlim_cur);
  limit.rlim_cur -= charged;
  return setrlimit(RLIMIT_DATA, &limit) == 0 ? charged : 0;
}

void Discharge(uint64_t bytes) {
  rlimit limit{};
  if (bytes == 0 || getrlimit(RLIMIT_DATA, &limit) != 0) return;
  limit.rlim_cur += bytes;
  setrlimit(RLIMIT_DATA, &limit);
}

}  // namespace

size_t HostMemory::PartBytes() const { return WholePages(shape_.floats * sizeof(float)); }
size_t HostMemory::Bytes() const {
  return WholePages(sizeof(HostControl)) + PartBytes() * static_cast<size_t>(shape_.ranks);
}

float* HostMemory::Part(int rank) {
  std::byte* const parts = static_cast<std::byte*>(base_) + WholePages(sizeof(HostControl));
  return reinterpret_cast<float*>(parts + PartBytes() * static_cast<size_t>(rank));
}

absl::Status HostMemory::Map() {
  void* const base = mmap(nullptr, Bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (base == MAP_FAILED) return NoMemory("mmap");
  base_ = base;
  charged_ = Charge(PartBytes());
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<HostMemory>> HostMemory::Make(const HostMemoryShape& shape) {
  if (shape.ranks > kHostRanksMax) {
    return IoError("shared memory for all-reduce: " + std::to_string(shape.ranks) +
                   " ranks on one host; the limit is " + std::to_string(kHostRanksMax));
  }
  std::shared_ptr<HostMemory> memory(new HostMemory(shape));
  memory->fd_ = memfd_create("dtrain-gradients", MFD_CLOEXEC);
  if (memory->fd_ < 0) return NoMemory("memfd_create");
  if (ftruncate(memory->fd_, static_cast<off_t>(memory->Bytes())) != 0)
    return NoMemory("ftruncate");
  DT_RETURN_IF_ERROR(memory->Map());
  new (memory->base_) HostControl;
  memory->control().key.store(shape.key);
  return memory;
}

absl::StatusOr<std::shared_ptr<HostMemory>> HostMemory::Open(pid_t owner, int descriptor,
                                                             const HostMemoryShape& shape) {
  std::shared_ptr<HostMemory> memory(new HostMemory(shape));
  const std::string path = "/proc/" + std::to_string(owner) + "/fd/" + std::to_string(descriptor);
  memory->fd_ = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (memory->fd_ < 0) return NoMemory("open " + path);
  struct stat facts {};
  if (fstat(memory->fd_, &facts) != 0 || !S_ISREG(facts.st_mode) ||
      facts.st_size != static_cast<off_t>(memory->Bytes())) {
    return IoError("shared memory for all-reduce: " + path + " is other memory");
  }
  DT_RETURN_IF_ERROR(memory->Map());
  if (memory->control().key.load() != shape.key) {
    return IoError("shared memory for all-reduce: " + path + " belongs to another gang");
  }
  return memory;
}

void HostMemory::CloseDescriptor() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

HostMemory::~HostMemory() {
  CloseDescriptor();
  if (base_ == nullptr) return;
  munmap(base_, Bytes());
  Discharge(charged_);
}

}  // namespace dt::trainer
