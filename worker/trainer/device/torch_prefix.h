// torch_prefix.h: the LibTorch headers that the trainer's units share, as the precompiled header.
// Each unit instantiates the templates of these headers again, so headers that few units need are
// not here: autograd's functions cost each unit two seconds, c10d's another second, and
// torch/torch.h half a minute.
#pragma once

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
