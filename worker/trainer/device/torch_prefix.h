// torch_prefix.h: the LibTorch headers that the trainer's units share, as the precompiled header.
// A unit instantiates anew what the templates of all these want, so what few need is not here:
// autograd's functions cost each unit two seconds, c10d's another, and torch/torch.h half a minute.
#pragma once

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
