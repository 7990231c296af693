// module.h: the text of dtrain.py, which a program may import: python/dtrain/trial.py as it was
// when this was built (module.cc.in).
#pragma once

namespace dt::program {

extern const char* const kTrialModule;

}  // namespace dt::program
