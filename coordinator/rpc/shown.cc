#include "coordinator/rpc/shown.h"

#include "grpc/grpc_security_constants.h"

namespace dt {

std::vector<std::string> AlternativeNames(const grpc::CallbackServerContext& context) {
  std::vector<std::string> names;
  const auto peer = context.auth_context();
  if (peer == nullptr) return names;
  for (const grpc::string_ref& name : peer->FindPropertyValues(GRPC_X509_SAN_PROPERTY_NAME)) {
    names.emplace_back(name.data(), name.size());
  }
  return names;
}

std::string CommonName(const grpc::CallbackServerContext& context) {
  const auto peer = context.auth_context();
  if (peer == nullptr || !peer->IsPeerAuthenticated()) return "";
  const auto names = peer->FindPropertyValues(GRPC_X509_CN_PROPERTY_NAME);
  return names.empty() ? "" : std::string(names[0].data(), names[0].size());
}

Shown ShownBy(const grpc::CallbackServerContext& context) {
  Shown shown{"", AlternativeNames(context), context.peer()};
  const auto found = context.client_metadata().find("authorization");
  if (found != context.client_metadata().end()) {
    shown.authorization.assign(found->second.data(), found->second.size());
  }
  return shown;
}

}  // namespace dt
