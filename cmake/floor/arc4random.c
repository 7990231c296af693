// arc4random.c: glibc's function of that name, which glibc has only since 2.36. A static libstdc++ calls
// it for std::random_device.
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

__attribute__((visibility("hidden"))) uint32_t arc4random(void) {
  uint32_t value = 0;
  while (getrandom(&value, sizeof(value), 0) != sizeof(value)) {
    if (errno != EINTR) abort();
  }
  return value;
}
