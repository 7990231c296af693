// import_fuzz.cc: any bytes as a file of another tool: refused with a reason, or a file of ours
// that is readable YAML.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cli/import/import.h"
#include "spec/file/yaml_tree.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto imported =
      dt::cli::Import(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.yaml");
  if (!imported.ok()) {
    if (imported.status().message().empty()) std::abort();
    return 0;
  }
  if (!dt::spec::ParseYaml(imported->text).readable) std::abort();
  return 0;
}
