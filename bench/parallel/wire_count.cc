// wire_count.cc: counts the bytes that a process passes to TCP sockets, in a file that others can
// read at any time. parallel_bench preloads it into every rank, dttrain's and PyTorch's, so that
// both are counted in the same way, however their collectives work.
//
// Role:    wraps the C library's calls that write to sockets. The folder is $WIRE_COUNT_FOLDER; the
//          file is named after the process's id and has one uint64.
// Threads: any.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

using Count = std::atomic<uint64_t>;

// Returns null if the variable is not set, or if the file cannot be made, which its reader notices.
Count* MakeCount() {
  const char* const folder = std::getenv("WIRE_COUNT_FOLDER");
  if (folder == nullptr) return nullptr;
  char path[4096];
  std::snprintf(path, sizeof(path), "%s/%d", folder, getpid());
  const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, sizeof(Count)) != 0) return nullptr;
  void* const memory = mmap(nullptr, sizeof(Count), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return memory == MAP_FAILED ? nullptr : static_cast<Count*>(memory);
}

bool IsTcp(int fd) {
  sockaddr_storage name{};
  socklen_t length = sizeof(name);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&name), &length) != 0) return false;
  return name.ss_family == AF_INET || name.ss_family == AF_INET6;
}

ssize_t Counted(int fd, ssize_t sent) {
  static Count* const count = MakeCount();
  if (sent > 0 && count != nullptr && IsTcp(fd)) count->fetch_add(static_cast<uint64_t>(sent));
  return sent;
}

template <typename Call>
Call* Next(const char* name) {
  return reinterpret_cast<Call*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

ssize_t writev(int fd, const iovec* parts, int count) {
  static auto* const next = Next<ssize_t(int, const iovec*, int)>("writev");
  return Counted(fd, next(fd, parts, count));
}
ssize_t send(int fd, const void* data, size_t bytes, int flags) {
  static auto* const next = Next<ssize_t(int, const void*, size_t, int)>("send");
  return Counted(fd, next(fd, data, bytes, flags));
}
ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  static auto* const next = Next<ssize_t(int, const msghdr*, int)>("sendmsg");
  return Counted(fd, next(fd, message, flags));
}

}  // extern "C"
