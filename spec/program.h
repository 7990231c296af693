// program.h: whether an experiment brings a program of its own.
//
// Role: pure.
#pragma once

#include "dtrain/v1/model.pb.h"

namespace dt::spec {

// Data, model and training of the specification then mean nothing.
inline bool IsProgram(const ::dtrain::v1::Spec& spec) {
  return spec.command_size() > 0 || !spec.run().empty();
}

}  // namespace dt::spec
