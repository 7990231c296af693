// shown.h: a call's credentials: its token, certificate and address.
//
// Role:    reads gRPC's context; decides nothing.
// Tests:   tests/coordinator/rpc/door_test.cc, identity_test.cc, rpc_test.cc
#pragma once

#include <string>
#include <vector>

#include "coordinator/door/door.h"
#include "grpcpp/server_context.h"

namespace dt {

std::vector<std::string> AlternativeNames(const grpc::CallbackServerContext& context);
// Returns the common name of the peer's certificate; "" if it showed none.
std::string CommonName(const grpc::CallbackServerContext& context);
Shown ShownBy(const grpc::CallbackServerContext& context);

}  // namespace dt
