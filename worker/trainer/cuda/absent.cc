// absent.cc: stands where cuda_device.cc stands in builds with CUDA.
#include "worker/trainer/device.h"

namespace dt::trainer {

Result<std::unique_ptr<Device>> OpenCuda(int index) {
  return Error{ErrorKind::kConfig, "--device cuda:" + std::to_string(index) +
                                       ": this dttrain was built without CUDA; build it where the "
                                       "CUDA libraries are (./dev setup --cuda)"};
}

}  // namespace dt::trainer
