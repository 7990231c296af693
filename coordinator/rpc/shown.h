// shown.h: what a call shows of who it is from: its token, its certificate, its address.
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
// The common name of the peer's certificate; "" where it showed none.
std::string CommonName(const grpc::CallbackServerContext& context);
Shown ShownBy(const grpc::CallbackServerContext& context);

}  // namespace dt
