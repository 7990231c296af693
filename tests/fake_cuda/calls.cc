// calls.cc: the notes of calls, in memory and in a file.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "tests/fake_cuda/state.h"

namespace dt::fake_cuda {
namespace {

constexpr const char* kKindNames[] = {"launch", "product",    "plan",       "copy", "fill",
                                      "wait",   "allocation", "collective", "fault"};

struct Notes {
  Notes() {
    const char* path = std::getenv("DTRAIN_FAKE_CUDA_CALLS");
    if (path == nullptr) return;
    const std::string name = std::string(path) + "." + std::to_string(getpid());
    file = std::fopen(name.c_str(), "we");
    if (file == nullptr) std::perror(name.c_str());
  }
  std::mutex mutex;
  std::vector<Call> calls;
  FILE* file = nullptr;
};

// Never destroyed: LibTorch's threads outlive main.
Notes& TheNotes() {
  static Notes& notes = *new Notes;
  return notes;
}

uint64_t NumberFromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace

void Note(Call call) {
  Notes& notes = TheNotes();
  std::lock_guard lock(notes.mutex);
  if (notes.file != nullptr) {
    std::fprintf(notes.file, "%s %llu %d%s %s\n", kKindNames[static_cast<int>(call.kind)],
                 static_cast<unsigned long long>(call.bytes), call.stream,
                 call.pageable ? " pageable" : "", call.what.c_str());
    std::fflush(notes.file);  // the process may be killed
  }
  notes.calls.push_back(std::move(call));
}

void NoteFault(std::string what) {
  std::fprintf(stderr, "fake CUDA: %s\n", what.c_str());
  Note({Kind::kFault, std::move(what), 0, 0, false});
}

void NoteWait(std::string what, const Stream* stream) {
  if (Capturing() > 0) NoteFault(what + " within a capture");
  Note({Kind::kWait, std::move(what), 0, stream == nullptr ? 0 : stream->id, false});
}

std::vector<Call> TakeCalls() {
  Notes& notes = TheNotes();
  std::lock_guard lock(notes.mutex);
  return std::exchange(notes.calls, {});
}

Machine& TheMachine() {
  static Machine machine = [] {
    Machine made;
    made.devices = static_cast<int>(NumberFromEnvironment("DTRAIN_FAKE_CUDA_DEVICES", 1));
    made.memory_bytes = NumberFromEnvironment("DTRAIN_FAKE_CUDA_GIB", 80) << 30;
    return made;
  }();
  return machine;
}

}  // namespace dt::fake_cuda
