// act_fuzz.cc: any bytes as the body of each POST of /api/v1: refused with a reason, or a request
// that names its user.
//
// The first byte chooses the act.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "coordinator/api/acts.h"
#include "coordinator/api/api.h"
#include "google/protobuf/descriptor.h"

namespace {

std::vector<dt::ApiCall> Acts() {
  std::vector<dt::ApiCall> acts;
  for (const dt::ApiRoute& route : dt::ApiRoutes()) {
    if (route.http != dt::HttpMethod::kPost) continue;
    const std::string path =
        absl::StrReplaceAll(route.path, {{"{experiment}", "1"}, {"{trial}", "2"}});
    const auto call = dt::ReadApiCall(path, "", route.http);
    if (!call.ok()) std::abort();
    acts.push_back(*call);
  }
  return acts;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<dt::ApiCall> acts = Acts();
  if (size == 0) return 0;
  const dt::ApiCall& call = acts[data[0] % acts.size()];
  const std::string body(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto act = dt::ReadAct(call, body, "ann");
  if (!act.ok()) {
    if (act.status().message().empty()) std::abort();
    return 0;
  }
  const google::protobuf::Message& request = *act->request;
  const auto* who = request.GetDescriptor()->FindFieldByName("who");
  // A trial's client has the trial's token instead.
  const bool of_client = request.GetDescriptor()->FindFieldByName("asker") != nullptr;
  if ((who == nullptr) != of_client) std::abort();
  if (who != nullptr && request.GetReflection()->GetString(request, who) != "ann") std::abort();
  return 0;
}
