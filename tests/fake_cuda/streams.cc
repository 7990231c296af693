// streams.cc: streams, events and captures: each stream has its own clock, which events record.
#include <poll.h>

#include <algorithm>
#include <atomic>

#include "tests/fake_cuda/state.h"

namespace dt::fake_cuda {
namespace {

struct Event {
  int device = 0;
  bool timed = true;
  bool recorded = false;
  bool captured = false;
  double at = 0;
  Hang hang = nullptr;
};

struct Graph {
  size_t nodes = 0;
};

Stream g_default[kDevicesMax];
std::atomic<int> g_streams{0};
std::atomic<int> g_capturing{0};
std::atomic<Hang> g_hang{nullptr};  // the last one, of any stream

constexpr int kLookMs = 1;
void AwaitEnd(Hang hang) {
  while (Lasts(hang)) poll(nullptr, 0, kLookMs);
}

Event& EventOf(cudaEvent_t event) { return *reinterpret_cast<Event*>(event); }

cudaStreamCaptureStatus StatusOf(const Stream& stream) {
  return stream.capturing ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
}

}  // namespace

Stream& StreamOf(cudaStream_t stream) {
  if (stream != nullptr && stream != cudaStreamLegacy && stream != cudaStreamPerThread) {
    return *reinterpret_cast<Stream*>(stream);
  }
  Stream& own = g_default[CurrentDevice()];
  own.device = CurrentDevice();
  return own;
}

int Capturing() { return g_capturing; }

void HangStream(cudaStream_t stream, Hang hang) { g_hang = StreamOf(stream).hang = hang; }

void PassTime(void* stream, double seconds) {
  StreamOf(static_cast<cudaStream_t>(stream)).now += seconds;
}

DT_FAKE cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  TouchDevice(CurrentDevice());
  auto* made = new Stream;
  made->id = ++g_streams;
  made->device = CurrentDevice();
  *stream = reinterpret_cast<cudaStream_t>(made);
  return cudaSuccess;
}

// Does not free it: streams are few, and a late call may still name one.
DT_FAKE cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
DT_FAKE cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return Lasts(StreamOf(stream).hang) ? Fail(cudaErrorNotReady) : cudaSuccess;
}

DT_FAKE cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  TouchDevice(CurrentDevice());
  NoteWait("cudaStreamSynchronize", &StreamOf(stream));
  AwaitEnd(StreamOf(stream).hang);
  return cudaSuccess;
}

DT_FAKE cudaError_t cudaDeviceSynchronize() {
  TouchDevice(CurrentDevice());
  NoteWait("cudaDeviceSynchronize");
  AwaitEnd(g_hang);
  return cudaSuccess;
}

DT_FAKE cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
                                          void* data, unsigned) {
  callback(stream, cudaSuccess, data);
  return cudaSuccess;
}

DT_FAKE cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned) {
  Stream& stream = StreamOf(handle);
  stream.now = std::max(stream.now, EventOf(event).at);
  if (Lasts(EventOf(event).hang)) stream.hang = EventOf(event).hang;
  if (EventOf(event).captured && g_capturing > 0) stream.capturing = true;
  return cudaSuccess;
}

DT_FAKE cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  TouchDevice(CurrentDevice());
  auto* made = new Event;
  made->device = CurrentDevice();
  made->timed = (flags & cudaEventDisableTiming) == 0;
  *event = reinterpret_cast<cudaEvent_t>(made);
  return cudaSuccess;
}

DT_FAKE cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

DT_FAKE cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete &EventOf(event);
  return cudaSuccess;
}

DT_FAKE cudaError_t cudaEventRecordWithFlags(cudaEvent_t handle, cudaStream_t stream_handle,
                                             unsigned flags) {
  Event& event = EventOf(handle);
  const Stream& stream = StreamOf(stream_handle);
  if (stream_handle != nullptr && event.device != stream.device) {
    NoteFault("an event of device " + std::to_string(event.device) + " in a stream of device " +
              std::to_string(stream.device));
    return Fail(cudaErrorInvalidResourceHandle);
  }
  event.at = stream.now;
  event.hang = stream.hang;
  event.recorded = true;
  event.captured = stream.capturing && (flags & cudaEventRecordExternal) == 0;
  return cudaSuccess;
}

DT_FAKE cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}

DT_FAKE cudaError_t cudaEventQuery(cudaEvent_t event) {
  return Lasts(EventOf(event).hang) ? Fail(cudaErrorNotReady) : cudaSuccess;
}

DT_FAKE cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  NoteWait("cudaEventSynchronize");
  AwaitEnd(EventOf(event).hang);
  return cudaSuccess;
}

// An event within a capture has no time: it was recorded into the graph, and never ran.
DT_FAKE cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  const Event &a = EventOf(from), &b = EventOf(to);
  if (!a.recorded || !b.recorded || !a.timed || !b.timed || a.captured || b.captured) {
    NoteFault("the time between events that were not recorded, not timed, or captured");
    return Fail(cudaErrorInvalidResourceHandle);
  }
  *milliseconds = static_cast<float>((b.at - a.at) * 1e3);
  return cudaSuccess;
}

DT_FAKE cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  *status = StatusOf(StreamOf(stream));
  return cudaSuccess;
}

DT_FAKE cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                             unsigned long long* id, cudaGraph_t*,
                                             const cudaGraphNode_t**, const cudaGraphEdgeData**,
                                             size_t*) {
  *status = StatusOf(StreamOf(stream));
  if (id != nullptr) *id = 1;
  return cudaSuccess;
}

DT_FAKE cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  StreamOf(stream).capturing = true;
  ++g_capturing;
  return cudaSuccess;
}

DT_FAKE cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  StreamOf(stream).capturing = false;
  --g_capturing;
  *graph = reinterpret_cast<cudaGraph_t>(new Graph);
  return cudaSuccess;
}

DT_FAKE cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* ready, cudaGraph_t graph,
                                                  unsigned long long) {
  *ready = reinterpret_cast<cudaGraphExec_t>(graph);
  return cudaSuccess;
}

DT_FAKE cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t stream) {
  Note({Kind::kLaunch, "a graph", 0, StreamOf(stream).id, false});
  return cudaSuccess;
}

DT_FAKE cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t*, size_t* count) {
  *count = reinterpret_cast<Graph*>(graph)->nodes;
  return cudaSuccess;
}

DT_FAKE cudaError_t cudaGraphDestroy(cudaGraph_t) { return cudaSuccess; }
DT_FAKE cudaError_t cudaGraphExecDestroy(cudaGraphExec_t) { return cudaSuccess; }
DT_FAKE cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*) {
  return cudaSuccess;
}

}  // namespace dt::fake_cuda
