// memory.cc: device memory and pinned memory, both on the host, and copies between them.
#include <sys/mman.h>

#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "tests/fake_cuda/state.h"

namespace dt::fake_cuda {
namespace {

// The part of a device's memory that a context and its libraries take.
constexpr uint64_t kContextBytes = 600ull << 20;

struct Range {
  void* begin = nullptr;
  size_t bytes = 0;
};

struct Block {
  size_t size = 0;
  int device = 0;
  bool host = false;
  bool mapped = false;  // mapped by this file
};

struct Memory {
  std::mutex mutex;
  std::map<uintptr_t, Block> blocks;
  uint64_t used[kDevicesMax] = {};
  std::vector<Range> written[kDevicesMax];
};

Memory& TheMemory() {
  static Memory& memory = *new Memory;
  return memory;
}

uintptr_t AddressOf(const void* p) { return reinterpret_cast<uintptr_t>(p); }

// Maps memory that uses none of the host's until it is written.
void* Map(size_t size) {
  void* p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                 -1, 0);
  return p == MAP_FAILED ? nullptr : p;
}

// Returns the block that `p` lies in. REQUIRES: the lock is held.
const Block* Find(const Memory& memory, const void* p) {
  auto it = memory.blocks.upper_bound(AddressOf(p));
  if (it == memory.blocks.begin()) return nullptr;
  --it;
  return AddressOf(p) < it->first + it->second.size ? &it->second : nullptr;
}

struct Route {
  const char* name = "";
  bool pageable = false;
  bool to_host = false;
};

Route RouteOf(const void* to, const void* from) {
  Memory& memory = TheMemory();
  std::lock_guard lock(memory.mutex);
  const Block *target = Find(memory, to), *source = Find(memory, from);
  const bool to_device = target != nullptr && !target->host;
  const bool from_device = source != nullptr && !source->host;
  Route route;
  route.pageable = target == nullptr || source == nullptr;
  route.to_host = !to_device;
  route.name = to_device ? (from_device ? "D2D" : "H2D") : (from_device ? "D2H" : "H2H");
  return route;
}

void Move(void* to, const void* from, size_t bytes, const Route& route) {
  if (IsMoved(bytes)) {
    std::memmove(to, from, bytes);
    NoteWritten(to, bytes);
  } else if (route.to_host) {
    std::memset(to, 0, bytes);
  }
  // A flag that means that all is well.
  if (!TheMachine().computes && route.to_host && bytes == 1) *static_cast<char*>(to) = 1;
}

void Fill(void* p, int value, size_t bytes) {
  if (!IsMoved(bytes)) return;
  std::memset(p, value, bytes);
  NoteWritten(p, bytes);
}

void Add(const void* p, Block block) {
  Memory& memory = TheMemory();
  std::lock_guard lock(memory.mutex);
  if (!block.host) memory.used[block.device] += block.size;
  memory.blocks[AddressOf(p)] = block;
}

cudaError_t Remove(void* p) {
  Memory& memory = TheMemory();
  std::lock_guard lock(memory.mutex);
  const auto it = memory.blocks.find(AddressOf(p));
  if (it == memory.blocks.end()) return Fail(cudaErrorInvalidValue);
  if (!it->second.host) memory.used[it->second.device] -= it->second.size;
  std::erase_if(memory.written[it->second.device],
                [&](const Range& range) { return Find(memory, range.begin) == &it->second; });
  if (it->second.mapped) munmap(p, it->second.size);
  memory.blocks.erase(it);
  return cudaSuccess;
}

uint64_t FreeBytes() {
  Memory& memory = TheMemory();
  std::lock_guard lock(memory.mutex);
  return TheMachine().memory_bytes - kContextBytes - memory.used[CurrentDevice()];
}

}  // namespace

void NoteWritten(void* p, size_t bytes) {
  if (TheMachine().computes) return;
  Memory& memory = TheMemory();
  std::lock_guard lock(memory.mutex);
  const Block* block = Find(memory, p);
  if (block != nullptr && !block->host) memory.written[block->device].push_back({p, bytes});
}

void LeaveZeros() {
  Memory& memory = TheMemory();
  std::lock_guard lock(memory.mutex);
  std::vector<Range>& written = memory.written[CurrentDevice()];
  for (const Range& range : written) std::memset(range.begin, 0, range.bytes);
  written.clear();
}

DT_FAKE cudaError_t cudaMalloc(void** p, size_t size) {
  TouchDevice(CurrentDevice());
  if (size > FreeBytes()) return Fail(cudaErrorMemoryAllocation);
  *p = Map(size);
  if (*p == nullptr) return Fail(cudaErrorMemoryAllocation);
  Add(*p, {size, CurrentDevice(), false, true});
  Note({Kind::kAllocation, "cudaMalloc", size, 0, false});
  return cudaSuccess;
}

DT_FAKE cudaError_t cudaFree(void* p) {
  if (p == nullptr) return cudaSuccess;
  NoteWait("cudaFree");
  return Remove(p);
}

DT_FAKE cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  TouchDevice(CurrentDevice());
  *total = TheMachine().memory_bytes;
  *free = FreeBytes();
  return cudaSuccess;
}

DT_FAKE cudaError_t cudaHostAlloc(void** p, size_t size, unsigned) {
  TouchDevice(CurrentDevice());
  *p = Map(size);
  if (*p == nullptr) return Fail(cudaErrorMemoryAllocation);
  Add(*p, {size, 0, true, true});
  Note({Kind::kAllocation, "cudaHostAlloc", size, 0, false});
  return cudaSuccess;
}

DT_FAKE cudaError_t cudaFreeHost(void* p) { return p == nullptr ? cudaSuccess : Remove(p); }

DT_FAKE cudaError_t cudaHostRegister(void* p, size_t size, unsigned) {
  Add(p, {size, 0, true, false});
  Note({Kind::kAllocation, "cudaHostRegister", size, 0, false});
  return cudaSuccess;
}

DT_FAKE cudaError_t cudaHostUnregister(void* p) { return Remove(p); }

DT_FAKE cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* p) {
  *attributes = {};
  Memory& memory = TheMemory();
  std::lock_guard lock(memory.mutex);
  const Block* block = Find(memory, p);
  if (block == nullptr) {
    attributes->type = cudaMemoryTypeUnregistered;
    return cudaSuccess;
  }
  attributes->type = block->host ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
  attributes->device = block->device;
  attributes->devicePointer = attributes->hostPointer = const_cast<void*>(p);
  return cudaSuccess;
}

DT_FAKE cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  const Route route = RouteOf(to, from);
  NoteWait("cudaMemcpy");
  Note({Kind::kCopy, route.name, bytes, 0, route.pageable});
  Move(to, from, bytes, route);
  return cudaSuccess;
}

DT_FAKE cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind,
                                    cudaStream_t handle) {
  TouchDevice(CurrentDevice());
  Stream& stream = StreamOf(handle);
  const Route route = RouteOf(to, from);
  if (stream.capturing && route.pageable) NoteFault("a pageable copy within a capture");
  Note({Kind::kCopy, route.name, bytes, stream.id, route.pageable});
  Move(to, from, bytes, route);
  stream.now += kKernelSeconds;
  return cudaSuccess;
}

DT_FAKE cudaError_t cudaMemset(void* p, int value, size_t bytes) {
  NoteWait("cudaMemset");
  Note({Kind::kFill, "cudaMemset", bytes, 0, false});
  Fill(p, value, bytes);
  return cudaSuccess;
}

DT_FAKE cudaError_t cudaMemsetAsync(void* p, int value, size_t bytes, cudaStream_t handle) {
  Stream& stream = StreamOf(handle);
  Note({Kind::kFill, "cudaMemsetAsync", bytes, stream.id, false});
  Fill(p, value, bytes);
  stream.now += kKernelSeconds;
  return cudaSuccess;
}

DT_FAKE cudaError_t cudaMemcpyToSymbol(const void*, const void*, size_t, size_t, cudaMemcpyKind) {
  return cudaSuccess;
}

DT_FAKE cudaError_t cudaGetSymbolAddress(void** p, const void*) {
  static char memory[1 << 16];
  *p = memory;
  return cudaSuccess;
}

}  // namespace dt::fake_cuda
