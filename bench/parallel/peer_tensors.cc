// peer_tensors.cc: dttrain's count of tensor bytes, as a library that Python loads into PyTorch's
// ranks, so that both are counted in the same way.
#include "worker/trainer/device/tensor_count.h"

extern "C" {

void count_tensors() { dt::trainer::CountTensors(); }
uint64_t held_bytes() { return dt::trainer::CountedTensors().held; }
uint64_t peak_bytes() { return dt::trainer::CountedTensors().peak; }
void restart_peak() { dt::trainer::RestartTensorPeak(); }

}  // extern "C"
