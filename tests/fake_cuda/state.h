// state.h: shared by the units of the fake: notes, streams, and the places of memory.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>

#include "tests/fake_cuda/fake_cuda.h"

// Marks a function that NVIDIA's libraries export.
#define DT_FAKE extern "C" __attribute__((visibility("default")))

namespace dt::fake_cuda {

inline constexpr int kDevicesMax = 8;
inline constexpr size_t kSharedBytesMax = 232448;  // for a block that requests it
// If nothing is computed, larger pieces are neither copied nor filled nor gathered: that would only
// use memory.
inline constexpr size_t kMovedBytesMax = 1 << 20;
inline bool IsMoved(size_t bytes) { return TheMachine().computes || bytes <= kMovedBytesMax; }
inline constexpr double kKernelSeconds = 3e-6;      // every kernel takes this long on its stream
inline constexpr double kCollectiveSeconds = 5e-6;  // and a collective this long

// The reason for which a stream hangs: a collective whose peer is gone, until the communicator is
// aborted. Null: it does not hang.
using Hang = const std::atomic<bool>*;
inline bool Lasts(Hang hang) { return hang != nullptr && !hang->load(); }

struct Stream {
  int id = 0;
  int device = 0;
  double now = 0;
  bool capturing = false;
  std::atomic<Hang> hang{nullptr};
};
// Later work in this stream completes only when `hang` is over.
void HangStream(cudaStream_t stream, Hang hang);

void Note(Call call);
// Notes it, and prints it on stderr.
void NoteFault(std::string what);
// Notes a wait of the host, which a capture does not allow.
void NoteWait(std::string what, const Stream* stream = nullptr);

// Keeps `error` for cudaGetLastError and returns it.
cudaError_t Fail(cudaError_t error);

int CurrentDevice();
// Makes a context on the device, as a call on it does.
void TouchDevice(int device);
bool HasContext(int device);
Stream& StreamOf(cudaStream_t stream);
// Returns the number of streams that capture now.
int Capturing();

// Runs one of our own kernels if the machine computes. Returns false if it knows none of this name.
bool RunKernel(const char* name, dim3 grid, void** arguments);
// If the machine does not compute, a kernel leaves zeros on the current device wherever copies,
// fills and collectives have written since the last kernel. Otherwise a norm, in memory that was
// used before, would be read as tokens. NoteWritten: `bytes` at `p` were written.
void NoteWritten(void* p, size_t bytes);
void LeaveZeros();

}  // namespace dt::fake_cuda
