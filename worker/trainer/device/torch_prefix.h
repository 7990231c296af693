// torch_prefix.h: the LibTorch headers that the trainer's units share, as the precompiled header.
// torch/torch.h is left out on purpose: it costs half a minute and 1.4 GB a unit.
#pragma once

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <torch/csrc/distributed/c10d/reducer.hpp>
