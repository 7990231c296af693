// nccl.cc: NCCL among processes of one host, through memory that the first rank makes: nothing in
// it has a name, so that a kill leaves nothing behind. A collective is complete when its call
// returns. It is a fault if ranks' calls differ, which on GPUs would hang or mix up memory. The
// rank in DTRAIN_FAKE_NCCL_HANGS never completes the join.
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <nccl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "tests/fake_cuda/state.h"

namespace dt::fake_cuda {
namespace {

static_assert(sizeof(ncclConfig_t) == 80, "as LibTorch was built, whichever nccl.h this is");

constexpr int kRanksMax = kDevicesMax;
constexpr size_t kPartBytes = 4 << 20;  // passed on by a rank at once
constexpr timespec kLook{0, 50'000};    // how often a waiting rank looks
constexpr int kVersion = 22809;

struct Asked {
  char what[40];
  size_t bytes;
};

struct Seat {
  std::atomic<int> process;
  Asked asked;
  // Bytes that this rank put into its ring of kPartBytes by itself, and bytes taken from it.
  std::atomic<size_t> put, taken;
};

struct Shared {
  std::atomic<int> joined, arrived;
  std::atomic<unsigned> generation;
  Seat seats[kRanksMax];
};

constexpr size_t kHeadBytes = 1 << 16;
static_assert(sizeof(Shared) <= kHeadBytes);

struct Communicator {
  int rank = 0, size = 0;
  Shared* shared = nullptr;
  std::atomic<bool> aborted{false};
  std::atomic<ncclResult_t> error{ncclSuccess};
  pollfd peers[kRanksMax] = {};  // each becomes readable when its process ends
  bool watches_peers = false;

  char* Part(int of) const {
    return reinterpret_cast<char*>(shared) + kHeadBytes + kPartBytes * static_cast<size_t>(of);
  }
};

Communicator& Of(ncclComm_t communicator) { return *reinterpret_cast<Communicator*>(communicator); }

bool EveryoneJoined(const Communicator& c) { return c.shared->joined.load() >= c.size; }

// Waits a moment. Returns false if nothing more will come; `error` has the reason unless it was an
// abort.
bool Linger(Communicator& c) {
  if (!c.watches_peers && EveryoneJoined(c)) {
    for (int r = 0; r < c.size; ++r) {
      const auto process = r == c.rank ? -1 : c.shared->seats[r].process.load();
      c.peers[r].fd = r == c.rank ? -1 : static_cast<int>(syscall(SYS_pidfd_open, process, 0));
      c.peers[r].events = POLLIN;
      if (r != c.rank && c.peers[r].fd < 0) c.error = ncclRemoteError;
    }
    c.watches_peers = true;
  }
  const int gone =
      ppoll(c.peers, c.watches_peers ? static_cast<nfds_t>(c.size) : 0, &kLook, nullptr);
  if (gone > 0) c.error = ncclRemoteError;
  return !c.aborted && c.error == ncclSuccess;
}

// Blocks as NCCL does, which only events of a socket end: a rank waits on a socket on which it
// listens, and a failed accept is an error.
ncclResult_t AwaitJoined(const Communicator& c) {
  const int door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  ncclResult_t result = door >= 0 && listen(door, 1) == 0 ? ncclSuccess : ncclSystemError;
  while (result == ncclSuccess && !EveryoneJoined(c)) {
    if (accept4(door, nullptr, nullptr, SOCK_CLOEXEC) < 0 && errno != EAGAIN) {
      result = ncclSystemError;
    }
    ppoll(nullptr, 0, &kLook, nullptr);
  }
  close(door);
  return result;
}

// Returns false if the peers will not come.
bool Barrier(Communicator& c) {
  if (c.size == 1) return true;
  if (c.aborted || c.error != ncclSuccess) return false;
  const unsigned now = c.shared->generation.load();
  if (c.shared->arrived.fetch_add(1) + 1 == c.size) {
    c.shared->arrived = 0;
    ++c.shared->generation;
    return true;
  }
  while (c.shared->generation.load() == now) {
    if (!Linger(c)) return c.shared->generation.load() != now;
  }
  return true;
}

// Waits for the peers. If one is gone, the stream hangs, as on a GPU, until the communicator is
// aborted.
bool AwaitPeers(Communicator& c, cudaStream_t stream) {
  if (Barrier(c)) return true;
  HangStream(stream, &c.aborted);
  return false;
}

// Notes a collective, and waits until all ranks have made the same call.
bool Begin(Communicator& c, const std::string& what, size_t bytes, cudaStream_t stream) {
  Note({Kind::kCollective, what, bytes, StreamOf(stream).id, false});
  PassTime(stream, kCollectiveSeconds);
  Asked& mine = c.shared->seats[c.rank].asked;
  std::snprintf(mine.what, sizeof(mine.what), "%s", what.c_str());
  mine.bytes = bytes;
  if (!AwaitPeers(c, stream)) return false;
  for (int r = 0; r < c.size; ++r) {
    const Asked& other = c.shared->seats[r].asked;
    if (std::strcmp(other.what, mine.what) == 0 && other.bytes == bytes) continue;
    NoteFault("rank " + std::to_string(c.rank) + " calls " + what + " of " + std::to_string(bytes) +
              " bytes, rank " + std::to_string(r) + " " + other.what + " of " +
              std::to_string(other.bytes));
    c.error = ncclInvalidUsage;
  }
  // No rank makes the next call before all have compared.
  return AwaitPeers(c, stream) && c.error == ncclSuccess;
}

size_t SizeOf(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
    default:
      return 4;
  }
}

// Passes on a rank's `bytes` part by part: `use` gets the offset and the length of each part.
template <typename Use>
void InParts(Communicator& c, cudaStream_t stream, const void* mine, size_t bytes, const Use& use) {
  for (size_t at = 0; at < bytes; at += kPartBytes) {
    const size_t length = std::min(kPartBytes, bytes - at);
    if (mine != nullptr) {
      std::memcpy(c.Part(c.rank), static_cast<const char*>(mine) + at, length);
    }
    if (!AwaitPeers(c, stream)) return;
    use(at, length);
    if (!AwaitPeers(c, stream)) return;
  }
}

// Sums `length` bytes of every part, from `from` on. Each sum of two is rounded, as at a ring's
// hops.
template <typename T>
void Sum(const Communicator& c, void* out, size_t from, size_t length) {
  T* sums = static_cast<T*>(out);
  for (size_t i = 0; i < length / sizeof(T); ++i) {
    T sum = reinterpret_cast<const T*>(c.Part(0) + from)[i];
    for (int r = 1; r < c.size; ++r) sum = sum + reinterpret_cast<const T*>(c.Part(r) + from)[i];
    sums[i] = sum;
  }
}

using SumOfParts = void (*)(const Communicator& c, void* out, size_t from, size_t length);
// Returns null for a type that the fake does not sum.
SumOfParts SumOf(ncclDataType_t type) {
  switch (type) {
    case ncclFloat16:
      return Sum<c10::Half>;
    case ncclBfloat16:
      return Sum<c10::BFloat16>;
    case ncclFloat32:
      return Sum<float>;
    case ncclFloat64:
      return Sum<double>;
    default:
      return nullptr;
  }
}

char* At(void* p, size_t offset) { return static_cast<char*>(p) + offset; }

// A message that a rank sends or receives within a group of calls.
struct Message {
  const void* in = nullptr;  // sent
  void* out = nullptr;       // received
  size_t bytes = 0;
  int peer = 0;
  ncclComm_t communicator = nullptr;
  cudaStream_t stream = nullptr;
};
thread_local int open_groups = 0;
thread_local std::vector<Message> messages;

// Moves so many bytes into a rank's ring, or out of it; waits for room, or for bytes.
bool Pass(Communicator& c, int sender, const void* in, void* out, size_t bytes) {
  Seat& seat = c.shared->seats[sender];
  std::atomic<size_t>& mine = in != nullptr ? seat.put : seat.taken;
  for (size_t done = 0; done < bytes;) {
    const size_t here = seat.put.load() - seat.taken.load();
    const size_t at = mine.load() % kPartBytes;
    const size_t length =
        std::min({in != nullptr ? kPartBytes - here : here, bytes - done, kPartBytes - at});
    if (length == 0) {
      if (!Linger(c)) return false;
      continue;
    }
    char* const place = c.Part(sender) + at;
    if (in != nullptr) {
      std::memcpy(place, static_cast<const char*>(in) + done, length);
    } else {
      std::memcpy(static_cast<char*>(out) + done, place, length);
    }
    mine += length;
    done += length;
  }
  return true;
}

// Passes a single message between the two ranks of a communicator. The sender goes on, as when a
// stream sends.
ncclResult_t PassAlone(const Message& message) {
  Communicator& c = Of(message.communicator);
  const bool sends = message.in != nullptr;
  Note({Kind::kCollective, sends ? "send" : "receive", message.bytes, StreamOf(message.stream).id,
        false});
  PassTime(message.stream, kCollectiveSeconds);
  if (c.size != 2) {
    NoteFault("a message by itself among more than two ranks, which the fake does not know");
    return ncclInvalidArgument;
  }
  const int sender = sends ? c.rank : message.peer;
  size_t bytes = message.bytes;
  const void* const length = &bytes;
  if (!Pass(c, sender, sends ? length : nullptr, &bytes, sizeof(bytes))) {
    HangStream(message.stream, &c.aborted);
    return ncclSuccess;
  }
  if (bytes != message.bytes) {
    NoteFault("a message of " + std::to_string(bytes) + " bytes is received as one of " +
              std::to_string(message.bytes));
    return ncclInvalidArgument;
  }
  if (TheMachine().computes && !Pass(c, sender, message.in, message.out, bytes)) {
    HangStream(message.stream, &c.aborted);
  }
  return ncclSuccess;
}

// Passes the messages of a group, which every rank of the communicator calls, each with at most one
// message to send and one to receive, all of one length.
ncclResult_t Exchange(const std::vector<Message>& all) {
  if (all.empty()) return ncclSuccess;
  if (all.size() == 1) return PassAlone(all[0]);
  Communicator& c = Of(all[0].communicator);
  Message given, got;
  size_t gives = 0, gets = 0;
  for (const Message& one : all) {
    (one.in != nullptr ? given : got) = one;
    ++(one.in != nullptr ? gives : gets);
    if (one.communicator == all[0].communicator && one.bytes == all[0].bytes) continue;
    NoteFault("messages of one group that the fake does not know");
    return ncclInvalidArgument;
  }
  if (gives > 1 || gets > 1) {
    NoteFault("several messages at once, which the fake does not know");
    return ncclInvalidArgument;
  }
  const cudaStream_t stream = all[0].stream;
  if (!Begin(c, "send and receive", all[0].bytes, stream)) return ncclSuccess;
  if (!TheMachine().computes) return ncclSuccess;
  InParts(c, stream, given.in, all[0].bytes, [&](size_t at, size_t length) {
    if (gets == 1) std::memcpy(At(got.out, at), c.Part(got.peer), length);
  });
  return ncclSuccess;
}

// An all-to-all has an empty message for each rank that gets nothing.
ncclResult_t Add(const Message& message) {
  if (message.bytes == 0) return ncclSuccess;
  if (open_groups == 0) return Exchange({message});
  messages.push_back(message);
  return ncclSuccess;
}

}  // namespace

DT_FAKE ncclResult_t ncclGetVersion(int* version) {
  *version = kVersion;
  return ncclSuccess;
}
DT_FAKE const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclRemoteError ? "a peer is gone" : "an error of the fake NCCL";
}
DT_FAKE const char* ncclGetLastError(ncclComm_t) { return ""; }

// ---- joining ----
DT_FAKE ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  const int fd = memfd_create("fake_nccl", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, kHeadBytes + kPartBytes * kRanksMax) != 0) return ncclSystemError;
  *id = {};
  // The descriptor stays open: peers find the memory through it.
  std::snprintf(id->internal, sizeof(id->internal), "/proc/%d/fd/%d", getpid(), fd);
  return ncclSuccess;
}

DT_FAKE ncclResult_t ncclCommInitRankConfig(ncclComm_t* out, int size, ncclUniqueId id, int rank,
                                            ncclConfig_t* config) {
  if (size > kRanksMax) return ncclInvalidArgument;
  FILE* file = std::fopen(id.internal, "r+e");
  if (file == nullptr) return ncclRemoteError;
  void* memory = mmap(nullptr, kHeadBytes + kPartBytes * kRanksMax, PROT_READ | PROT_WRITE,
                      MAP_SHARED, fileno(file), 0);
  std::fclose(file);
  if (memory == MAP_FAILED) return ncclSystemError;
  auto* c = new Communicator;
  c->rank = rank;
  c->size = size;
  c->shared = static_cast<Shared*>(memory);
  c->shared->seats[rank].process = getpid();
  if (const char* hangs = std::getenv("DTRAIN_FAKE_NCCL_HANGS");
      hangs && std::atoi(hangs) == rank) {
    for (;;) pause();
  }
  ++c->shared->joined;
  *out = reinterpret_cast<ncclComm_t>(c);
  const bool blocks = config == nullptr || config->blocking != 0;
  Note({Kind::kCollective, blocks ? "join, which blocks" : "join", 0, 0, false});
  if (!blocks) return EveryoneJoined(*c) ? ncclSuccess : ncclInProgress;
  return AwaitJoined(*c);
}
DT_FAKE ncclResult_t ncclCommInitRank(ncclComm_t* out, int size, ncclUniqueId id, int rank) {
  return ncclCommInitRankConfig(out, size, id, rank, nullptr);
}

DT_FAKE ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t* error) {
  const Communicator& c = Of(communicator);
  *error = c.error != ncclSuccess ? c.error.load()
           : EveryoneJoined(c)    ? ncclSuccess
                                  : ncclInProgress;
  return ncclSuccess;
}
DT_FAKE ncclResult_t ncclCommCount(ncclComm_t communicator, int* size) {
  *size = Of(communicator).size;
  return ncclSuccess;
}
DT_FAKE ncclResult_t ncclCommUserRank(ncclComm_t communicator, int* rank) {
  *rank = Of(communicator).rank;
  return ncclSuccess;
}

// Does not free it: communicators are few, and a thread may still use one. LibTorch's watchdog
// aborts one twice, the second time as null, which NCCL accepts.
DT_FAKE ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  if (communicator != nullptr) Of(communicator).aborted = true;
  return ncclSuccess;
}
DT_FAKE ncclResult_t ncclCommFinalize(ncclComm_t) { return ncclSuccess; }
DT_FAKE ncclResult_t ncclCommDestroy(ncclComm_t) { return ncclSuccess; }
DT_FAKE ncclResult_t ncclGroupStart() {
  ++open_groups;
  return ncclSuccess;
}
DT_FAKE ncclResult_t ncclGroupEnd() {
  return --open_groups > 0 ? ncclSuccess : Exchange(std::exchange(messages, {}));
}
DT_FAKE ncclResult_t ncclCommRegister(ncclComm_t, void*, size_t, void**) { return ncclSuccess; }
DT_FAKE ncclResult_t ncclCommDeregister(ncclComm_t, void*) { return ncclSuccess; }

// ---- collectives: like NCCL's, they succeed when they are started; ncclCommGetAsyncError returns
// later errors ----
DT_FAKE ncclResult_t ncclAllReduce(const void* in, void* out, size_t count, ncclDataType_t type,
                                   ncclRedOp_t operation, ncclComm_t communicator,
                                   cudaStream_t stream) {
  Communicator& c = Of(communicator);
  const size_t bytes = count * SizeOf(type);
  if (!Begin(c, "all-reduce of type " + std::to_string(type), bytes, stream)) return ncclSuccess;
  const SumOfParts sum = SumOf(type);
  if (operation != ncclSum || sum == nullptr) {
    NoteFault("an all-reduce that the fake does not know");
    return ncclInvalidArgument;
  }
  if (c.size == 1 || !TheMachine().computes) return ncclSuccess;
  InParts(c, stream, in, bytes, [&](size_t at, size_t length) { sum(c, At(out, at), 0, length); });
  return ncclSuccess;
}

// `count`: of the elements that a rank receives.
DT_FAKE ncclResult_t ncclReduceScatter(const void* in, void* out, size_t count, ncclDataType_t type,
                                       ncclRedOp_t operation, ncclComm_t communicator,
                                       cudaStream_t stream) {
  Communicator& c = Of(communicator);
  const size_t bytes = count * SizeOf(type);
  const size_t all = bytes * static_cast<size_t>(c.size);
  if (!Begin(c, "reduce-scatter of type " + std::to_string(type), all, stream)) return ncclSuccess;
  const SumOfParts sum = SumOf(type);
  if (operation != ncclSum || sum == nullptr) {
    NoteFault("a reduce-scatter that the fake does not know");
    return ncclInvalidArgument;
  }
  if (!TheMachine().computes) return ncclSuccess;
  const size_t mine = bytes * static_cast<size_t>(c.rank);
  InParts(c, stream, in, all, [&](size_t at, size_t length) {
    const size_t from = std::max(at, mine), end = std::min(at + length, mine + bytes);
    if (from < end) sum(c, At(out, from - mine), from - at, end - from);
  });
  return ncclSuccess;
}

DT_FAKE ncclResult_t ncclAllGather(const void* in, void* out, size_t count, ncclDataType_t type,
                                   ncclComm_t communicator, cudaStream_t stream) {
  Communicator& c = Of(communicator);
  const size_t bytes = count * SizeOf(type);
  if (!Begin(c, "all-gather of type " + std::to_string(type), bytes, stream)) return ncclSuccess;
  if (!IsMoved(bytes * static_cast<size_t>(c.size))) return ncclSuccess;
  InParts(c, stream, in, bytes, [&](size_t at, size_t length) {
    for (int r = 0; r < c.size; ++r) {
      std::memcpy(At(out, bytes * static_cast<size_t>(r) + at), c.Part(r), length);
    }
  });
  NoteWritten(out, bytes * static_cast<size_t>(c.size));
  return ncclSuccess;
}

DT_FAKE ncclResult_t ncclBroadcast(const void* in, void* out, size_t count, ncclDataType_t type,
                                   int root, ncclComm_t communicator, cudaStream_t stream) {
  Communicator& c = Of(communicator);
  const size_t bytes = count * SizeOf(type);
  if (!Begin(c, "broadcast of type " + std::to_string(type), bytes, stream)) return ncclSuccess;
  if (c.size == 1 || !TheMachine().computes) return ncclSuccess;
  InParts(c, stream, c.rank == root ? in : nullptr, bytes,
          [&](size_t at, size_t length) { std::memcpy(At(out, at), c.Part(root), length); });
  return ncclSuccess;
}
DT_FAKE ncclResult_t ncclSend(const void* in, size_t count, ncclDataType_t type, int peer,
                              ncclComm_t communicator, cudaStream_t stream) {
  return Add({in, nullptr, count * SizeOf(type), peer, communicator, stream});
}
DT_FAKE ncclResult_t ncclRecv(void* out, size_t count, ncclDataType_t type, int peer,
                              ncclComm_t communicator, cudaStream_t stream) {
  return Add({nullptr, out, count * SizeOf(type), peer, communicator, stream});
}
DT_FAKE ncclResult_t ncclBcast(void* buffer, size_t count, ncclDataType_t type, int root,
                               ncclComm_t communicator, cudaStream_t stream) {
  return ncclBroadcast(buffer, buffer, count, type, root, communicator, stream);
}

}  // namespace dt::fake_cuda
