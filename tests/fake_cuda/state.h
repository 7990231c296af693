// state.h: what the units of the fake share: notes, streams, and where memory lies.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>

#include "tests/fake_cuda/fake_cuda.h"

// A function of NVIDIA's.
#define DT_FAKE extern "C" __attribute__((visibility("default")))

namespace dt::fake_cuda {

inline constexpr int kDevicesMax = 8;
inline constexpr size_t kSharedBytesMax = 232448;  // of a block that asks for it
// Where nothing is computed, what is larger is neither copied nor filled nor gathered: it would
// only cost memory.
inline constexpr size_t kMovedBytesMax = 1 << 20;
inline bool IsMoved(size_t bytes) { return TheMachine().computes || bytes <= kMovedBytesMax; }
inline constexpr double kKernelSeconds = 3e-6;      // every kernel takes this long on its stream
inline constexpr double kCollectiveSeconds = 5e-6;  // and a collective this long

// What a stream hangs on: a collective whose peer is gone, until the communicator is aborted.
// Null: on nothing.
using Hang = const std::atomic<bool>*;
inline bool Lasts(Hang hang) { return hang != nullptr && !hang->load(); }

struct Stream {
  int id = 0;
  int device = 0;
  double now = 0;
  bool capturing = false;
  std::atomic<Hang> hang{nullptr};
};
// What follows in this stream is complete only when `hang` is over.
void HangStream(cudaStream_t stream, Hang hang);

void Note(Call call);
// Says it on stderr as well.
void NoteFault(std::string what);
// A wait of the host, which a capture does not allow.
void NoteWait(std::string what, const Stream* stream = nullptr);

// Leaves `error` to cudaGetLastError and returns it.
cudaError_t Fail(cudaError_t error);

int CurrentDevice();
// A call that makes a context on the current device.
void TouchDevice(int device);
bool HasContext(int device);
Stream& StreamOf(cudaStream_t stream);
// Streams that capture now.
int Capturing();

// Runs our own kernels where the machine computes. False: it knows none of this name.
bool RunKernel(const char* name, dim3 grid, void** arguments);
// Where the machine does not compute, a kernel leaves zeros on the current device wherever copies,
// fills and collectives have written since the last one: or a norm, in memory that was used before,
// would read as tokens. NoteWritten: `bytes` at `p` are written.
void NoteWritten(void* p, size_t bytes);
void LeaveZeros();

}  // namespace dt::fake_cuda
