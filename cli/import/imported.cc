// imported.cc: see imported.h.
#include "cli/import/imported.h"

namespace dt::cli {

std::string NameOf(Tool tool) {
  switch (tool) {
    case Tool::kWandb:
      return "a W&B sweep";
    case Tool::kDetermined:
      return "a Determined experiment";
    case Tool::kRay:
      return "Ray Tune";
    case Tool::kHydra:
      return "Hydra";
    case Tool::kKatib:
      return "a Katib experiment";
  }
  return "";
}

}  // namespace dt::cli
