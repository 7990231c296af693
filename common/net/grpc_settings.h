// grpc_settings.h: what every gRPC client of the coordinator sets, and status codes across the
// border.
//
// Threads: pure functions.
// Tests:   tests/coordinator/rpc/rpc_test.cc
#pragma once

#include "absl/status/status.h"
#include "grpcpp/support/channel_arguments.h"
#include "grpcpp/support/status.h"

namespace dt {

// Keepalive, message sizes and reconnect backoff that every client of the coordinator uses.
grpc::ChannelArguments ClientChannelArguments();

// The codes are the same set; details stay behind, and so does what is more than a trailer takes.
grpc::Status ToGrpcStatus(const absl::Status& status);
absl::Status FromGrpcStatus(const grpc::Status& status);

}  // namespace dt
