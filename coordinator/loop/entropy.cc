// entropy.cc: calls getrandom for 4 KiB at a time.
#include "coordinator/loop/entropy.h"

#include <sys/random.h>

#include <cerrno>
#include <cstddef>

#include "common/check.h"

namespace dt {
namespace {

constexpr size_t kReserve = 256;  // pairs of words; one system call serves this many events

struct Reserve {
  std::array<std::array<uint64_t, 2>, kReserve> bits;
  size_t left = 0;
};

void Fill(Reserve& reserve) {
  auto* bytes = reinterpret_cast<uint8_t*>(reserve.bits.data());
  size_t have = 0;
  while (have < sizeof(reserve.bits)) {
    const ssize_t got = getrandom(bytes + have, sizeof(reserve.bits) - have, 0);
    // Without random bits, tokens would not fence off old attempts; the process must end.
    DT_CHECK(got > 0 || errno == EINTR);
    if (got > 0) have += static_cast<size_t>(got);
  }
  reserve.left = kReserve;
}

}  // namespace

std::array<uint64_t, 2> FreshEntropy() {
  thread_local Reserve reserve;
  if (reserve.left == 0) Fill(reserve);
  return reserve.bits[--reserve.left];
}

}  // namespace dt
