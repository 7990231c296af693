// imported.h: the result of an import.
#pragma once

#include <string>
#include <vector>

#include "spec/file/diagnostics.h"

namespace dt::cli {

enum class Tool { kWandb, kDetermined, kRay, kHydra, kKatib };
std::string NameOf(Tool tool);

struct Imported {
  std::string text;                        // our file
  std::vector<std::string> warnings;       // for people to look at
  std::vector<spec::Diagnostic> problems;  // errors of our file, which a person has to correct
};

}  // namespace dt::cli
