// module.h: the text of dtrain.py, which a program may import: a copy of python/dtrain/trial.py
// from the build (module.cc.in).
#pragma once

namespace dt::program {

extern const char* const kTrialModule;

}  // namespace dt::program
