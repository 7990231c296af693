// specification_fuzz.cc: any bytes as the choices of a client that invents an experiment, and of
// the workers that train it.
#include "tests/testing/specification_hunt.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  dt::hunt::Hunt(data, size);
  return 0;
}
